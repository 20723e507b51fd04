import { badOption } from '../../lib/bad-option.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { type Completion, complete } from '../completion/complete.ts';
import { namesFrom } from '../completion/names.ts';
import { SHELLS, type Shell } from '../completion/shells.ts';
import type { CliCommand } from '../run/command.ts';

const NAMES = Object.keys(SHELLS);

/**
 * `taskq completion`: the script that teaches a shell to complete our command lines, and the answers that script
 * requests.
 */
export const completion: CliCommand = {
  suggestions: { shell: NAMES },
  declare(command) {
    command
      .argument('<shell>', NAMES.join(', '))
      .argument('[words...]', 'what the script asks with, after --: the words up to the cursor')
      .usage('[options] <shell>')
      .addHelpText('after', EXAMPLES);
  },
  async run(context, { args }) {
    const [name = '', ...words] = args;
    const shell = shellNamed(name);
    if (words.length === 0) {
      const { script } = SHELLS[shell];
      await context.output.answer({ shell, script }, () => script.trimEnd());
      return;
    }
    const completed = await complete(SHELLS[shell].wordsOf(words), namesFrom(context));
    await context.output.answer(documentOf(completed), () => linesOf(completed, shell).join('\n'));
  },
};

const EXAMPLES = `
In ~/.bashrc:                    eval "$(taskq completion bash)"
In ~/.zshrc, after compinit:     eval "$(taskq completion zsh)"
In ~/.config/fish/config.fish:   taskq completion fish | source`;

function shellNamed(name: string): Shell {
  if (Object.hasOwn(SHELLS, name)) return name as Shell;
  const message = `shell ${JSON.stringify(name)}: expected one of ${NAMES.join(', ')}${didYouMean(name, NAMES)}`;
  throw badOption(message);
}

function documentOf(completed: Completion): object {
  return completed.kind === 'files'
    ? { files: true, completions: [] }
    : { files: false, completions: completed.offers };
}

function linesOf(completed: Completion, shell: Shell): readonly string[] {
  return completed.kind === 'files' ? [':files'] : completed.offers.map(SHELLS[shell].lineOf);
}
