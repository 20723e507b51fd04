/** What a step gets of parents whose results are large: all at once, those named, and one after another. */
export default async function manyParents(_payload, ctx) {
  const { parents } = ctx;
  const all = await patiently(() => parents()).catch(({ code }) => code);
  const named = await patiently(() => parents(['p1', 'p3']));
  const unknown = await patiently(() => parents(['p1', 'nobody'])).catch(({ message }) => message);
  const each = await patiently(async () => {
    const ended = [];
    for await (const { step, status, result } of ctx.eachParent())
      ended.push(`${step} ${status} ${result.length}`);
    return ended;
  });
  return { all, named: Object.keys(named), unknown, each };
}

/** A server on a busy machine may take longer for so much than a statement may take. */
async function patiently(read) {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (error.code !== 'deadline_passed') throw error;
    }
  }
}
