import type { Offer } from './names.ts';

export type Shell = 'bash' | 'zsh' | 'fish';

interface ShellSupport {
  /**
   * Asks us for the completions of the words up to the cursor and passes them on. We receive the words as typed: the
   * shell evaluates none of them. The line `:files` requests the shell's own completion of file names.
   */
  readonly script: string;
  /** The words as a command would get them. */
  readonly wordsOf: (words: readonly string[]) => readonly string[];
  /** A completion in the form that the script reads. */
  readonly lineOf: (offer: Offer) => string;
}

/*
 * Not the scripts of @bomb.sh/tab 0.0.22: in bash they need a package that brings `_get_comp_words_by_ref`, complain
 * when they are sourced twice, run `$(…)` of the line that is being typed, and never complete the name of a file.
 */
export const SHELLS: Readonly<Record<Shell, ShellSupport>> = {
  bash: {
    script: `# bash completion of taskq. In ~/.bashrc: eval "$(taskq completion bash)"
_taskq() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$2"))
    else
      COMPREPLY+=("$line")
    fi
  done < <("$1" completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _taskq taskq
`,
    wordsOf: joined,
    // The line editor replaces what follows the equals sign.
    lineOf: ({ value }) => value.slice(value.indexOf('=') + 1),
  },
  zsh: {
    script: `#compdef taskq
# zsh completion of taskq. In ~/.zshrc, after compinit: eval "$(taskq completion zsh)"
_taskq() {
  local -a lines
  lines=("\${(@f)$("\${words[1]}" completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $lines[1] == :files ]]; then
    _files
  elif [[ -n $lines[1] ]]; then
    _describe taskq lines
  fi
}
if [[ $funcstack[1] == _taskq ]]; then
  _taskq "$@"
else
  compdef _taskq taskq
fi
`,
    wordsOf: (words) => words,
    lineOf: ({ value, about }) => `${value.replaceAll(/[\\:]/g, '\\$&')}:${about}`,
  },
  fish: {
    script: `# fish completion of taskq. In ~/.config/fish/config.fish: taskq completion fish | source
function __taskq_complete
  set -l words (commandline -opc)
  set -l lines ($words[1] completion fish -- $words[2..] (commandline -ct) 2>/dev/null)
  if test "$lines[1]" = :files
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $lines
  end
end
complete -c taskq -f -a '(__taskq_complete)'
`,
    wordsOf: (words) => words,
    lineOf: ({ value, about }) => `${value}\t${about}`,
  },
};

/** Rejoin words: bash cuts `--status=pen` into three. */
function joined(words: readonly string[]): readonly string[] {
  const whole: string[] = [];
  let goesOn = false;
  for (const word of words) {
    const isSign = word === '=' && whole.at(-1)?.startsWith('--') === true;
    if (isSign || goesOn) whole.push(`${whole.pop()}${word}`);
    else whole.push(word);
    goesOn = isSign;
  }
  return whole;
}
