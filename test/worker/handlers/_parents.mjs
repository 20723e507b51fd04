/** The place of the step, and what its parents have brought. */
export default async function parents(_payload, ctx) {
  const ends = Object.entries(await ctx.parents());
  return { workflow: ctx.workflow, parents: ends.map(([step, end]) => [step, end.status, resultOf(end)]) };
}

function resultOf(end) {
  try {
    return end.result;
  } catch (error) {
    return `${error.code}: ${error.message}`;
  }
}
