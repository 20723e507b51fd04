taskq types add report
