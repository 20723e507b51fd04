/**
 * Resolves when the readers of stdout and stderr have taken all that was printed, or are gone. A pipe with a slow
 * reader holds 64 KB; the rest waits in this process, and is lost if it exits.
 */
export async function printed(): Promise<void> {
  for (const stream of [process.stdout, process.stderr])
    if (stream.writableLength > 0) await new Promise<unknown>((taken) => stream.write('', taken));
}
