// A vitest reporter: writes to TASKQ_REPORT what .ci/summary.mjs prints. vitest's own JSON holds neither the difference
// between what was found and expected, nor the message of a test that timed out, nor the project.
import { writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

// biome-ignore lint/style/noDefaultExport: vitest takes this one.
export default class Reporter {
  onTestRunEnd(modules, unhandled) {
    const projects = {};
    const files = [];
    const failures = unhandled.map((error) => ({
      test: 'outside of any test',
      state: 'failed',
      found: [textOf(error)],
    }));
    for (const module of modules) {
      const project = module.project.name;
      projects[project] ??= { files: 0, passed: 0, ms: 0 };
      projects[project].files += 1;
      const at = `[${project}] ${module.relativeModuleId}`;
      const ms = module.diagnostic().duration;
      projects[project].ms += ms;
      files.push({ at, ms });
      for (const suite of [module, ...module.children.allSuites()])
        for (const error of suite.errors())
          failures.push({ test: at, state: 'failed', found: [textOf(error)] });
      for (const test of module.children.allTests()) {
        const { state, errors = [] } = test.result();
        if (state === 'passed') projects[project].passed += 1;
        else failures.push({ test: `${at}: ${test.fullName}`, state, found: errors.map(textOf) });
      }
    }
    writeFileSync(process.env.TASKQ_REPORT, JSON.stringify({ projects, files, failures }));
  }
}

function textOf({ message, diff = '', stack = '' }) {
  const place =
    stack.split('\n').find((line) => /^\s+at /.test(line) && !/node_modules|node:/.test(line)) ?? '';
  return [message, place, diff]
    .filter(Boolean)
    .map((text) => stripVTControlCharacters(text).slice(0, 3000))
    .join('\n');
}
