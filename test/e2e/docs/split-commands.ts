const HERE_DOCUMENT = /<<-?(?<quote>['"]?)(?<end>\w+)\k<quote>(?<rest>[^\n]*)\n.*?^\s*\k<end>$/gms;

/** A comment, `$(…)`, text in quotes, a redirection, blanks, the end of a command, or a part of a word. */
const TOKEN =
  /(?<comment>(?<=^|\s)#[^\n]*)|\$\((?<inner>(?:[^()]|\([^()]*\))*)\)|(?<quoted>'[^']*'|"(?:\\.|[^"\\])*")|(?<redirection>\d*(?:>>|<<|[<>])&?)|(?<blanks>[^\S\n]+)|(?<end>[\n;&|]+|[()])|[^\s'"$;&|()<>\d#]+|./gs;

/**
 * Splits a shell script into its simple commands, each a list of words. Those of `$(…)` come before the command that has it.
 * The commands `(` and `)` are around those of a subshell. Redirections are left out.
 */
export function splitCommands(script: string): string[][] {
  const text = script.replaceAll('\\\n', ' ').replace(HERE_DOCUMENT, '$<rest>');
  const commands: string[][] = [];
  let words: string[] = [];
  let word: string | undefined;
  let isTarget = false;
  const endWord = () => {
    if (word === undefined) return;
    if (!isTarget) words.push(word);
    isTarget = false;
    word = undefined;
  };
  const endCommand = (by = '') => {
    endWord();
    if (words.length > 0) commands.push(words);
    if (/[()]/.test(by)) commands.push([by]);
    words = [];
  };
  const read = (token: string, { comment, inner, quoted, redirection, blanks, end }: Groups) => {
    if (comment !== undefined) return;
    if (inner !== undefined) commands.push(...splitCommands(inner));
    if (blanks !== undefined || redirection !== undefined) endWord();
    else if (end !== undefined) endCommand(end);
    else word = (word ?? '') + (inner === undefined ? (quoted?.slice(1, -1) ?? token) : '$()');
    isTarget ||= redirection !== undefined;
  };
  for (const { 0: token, groups = {} } of text.matchAll(TOKEN)) read(token, groups);
  endCommand();
  return commands;
}

type Groups = Readonly<Record<string, string | undefined>>;
