// Runs one command line after another, each as `bin/taskq.js` does: loading the CLI costs ten times what a command does.
import { main } from '../../dist/bundled/main.js';

const emitters = [process, process.stdout, process.stderr];

process.on('message', async ({ args, cwd, env, end }) => {
  const before = emitters.map(listenersOf);
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  const code = await main(args, process.env);
  emitters.forEach((emitter, index) => {
    removeAllBut(before[index], emitter);
  });
  process.stdout.write(end);
  process.stderr.write(end);
  process.send({ code });
});

process.send('ready');

function listenersOf(emitter) {
  return new Map(emitter.eventNames().map((name) => [name, emitter.rawListeners(name)]));
}

/** A command leaves some listeners for the process's end to remove. */
function removeAllBut(kept, emitter) {
  for (const [name, listeners] of listenersOf(emitter)) {
    for (const listener of listeners) {
      if (!kept.get(name)?.includes(listener)) emitter.off(name, listener);
    }
  }
}
