export default (_payload, ctx) => ({ tick: ctx.tick });
