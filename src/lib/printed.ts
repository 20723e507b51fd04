/**
 * Resolves when the readers of stdout and stderr have taken all that was printed, or are gone. A pipe whose reader is
 * slow holds 64 KB; what is beyond that waits in this process, and is lost if it exits.
 */
export async function printed(): Promise<void> {
  for (const stream of [process.stdout, process.stderr])
    if (stream.writableLength > 0) await new Promise<unknown>((taken) => stream.write('', taken));
}
