/** What a step gets of parents whose results are large: all at once, those named, and one after another. */
export default async function manyParents(_payload, ctx) {
  const { parents } = ctx;
  const all = await parents().catch(({ code }) => code);
  const named = await parents(['p1', 'p3']);
  const unknown = await parents(['p1', 'nobody']).catch(({ message }) => message);
  const each = [];
  for await (const { step, status, result } of ctx.eachParent())
    each.push(`${step} ${status} ${result.length}`);
  return { all, named: Object.keys(named), unknown, each };
}
