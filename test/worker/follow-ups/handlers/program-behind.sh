#!/bin/sh
# Leaves a process that holds its file descriptors, and ends in the middle of a line.
sleep 10 &
printf '%s' '{"enqueue": {"type": "checked", "payload": {"to": "ann"}}}' >&3
