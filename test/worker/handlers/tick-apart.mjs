export default { isolation: 'process', run: (_payload, ctx) => ({ tick: ctx.tick }) };
