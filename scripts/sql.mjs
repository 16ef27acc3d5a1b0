import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Reads the `.sql` files of a folder, and returns the text of the TypeScript module that has them: see
 * libs/saga/src/store/README.md.
 * @param {string} folder
 * @returns {string}
 */
export function sqlModule(folder) {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const texts = files.filter((name) => name.endsWith('.sql')).toSorted();
  const blocks = texts.flatMap((name) => blocksOf(name, readFileSync(join(folder, name), 'utf8')));
  const fragments = blocks.filter(({ kind }) => kind !== 'name');
  const named = blocks.filter(({ kind }) => kind === 'name');
  const entries = (areFunctions) =>
    named
      .filter(({ file }) => file.startsWith('schema/') === areFunctions)
      .map(({ name, file, text }) =>
        entryOf(name, dirname(file), expanded(text, file, fragments), areFunctions),
      )
      .join('');
  return `// npm run generate writes this file from the .sql files of this folder.
import { sqlStatement } from './sql-statement.js';

export const FUNCTIONS = {
${entries(true)}} as const;

export const STATEMENTS = {
${entries(false)}} as const;
`;
}

/** A named statement or fragment begins with `-- name: x` or `-- fragment: X(a, b)`, then comments; `\set X 1` is one line. */
function blocksOf(file, text) {
  const blocks = [];
  for (const line of text.split('\n')) {
    const [, constant, value] = /^\\set (\w+) (.+)$/.exec(line) ?? [];
    const [, kind, name, list = ''] = /^-- (name|fragment): (\w+)(?:\(([^)]*)\))?$/.exec(line) ?? [];
    if (constant)
      blocks.push({ kind: 'set', name: constant, parameters: [], lines: [value], isClosed: true });
    else if (kind)
      blocks.push({ kind, name, parameters: list.split(/, */).filter(Boolean), lines: [], isClosed: false });
    else if (blocks.length > 0 && !blocks.at(-1).isClosed) blocks.at(-1).lines.push(line);
    else if (line !== '' && !line.startsWith('--'))
      throw new Error(`${file}: this line is in no statement: ${line}`);
  }
  return blocks.map(({ lines, ...block }) => ({
    ...block,
    file,
    text: withoutComments(lines.join('\n'), block.kind),
  }));
}

/** Without lines of comments, which only readers of the files want. A statement is sent without its semicolon. */
function withoutComments(text, kind) {
  const bare = text.replaceAll(/^\s*--.*$\n?/gm, '').trim();
  return kind === 'name' ? bare.replace(/;$/, '') : bare;
}

/** A fragment's or value's name, and what stands in brackets right behind it. */
const NAMED = /(?<![:\w]):([A-Z][A-Z_0-9]*)\b(?:\(((?:[^()]|\([^()]*\))*)\))?/g;

/** With all fragments in place of their names. A fragment may contain others; those of its own file come first. */
function expanded(text, file, fragments) {
  const expand = (whole, name, list) => {
    const found = fragments.filter((one) => one.name === name);
    const fragment = found.find((one) => one.file === file) ?? found[0];
    if (!fragment) return whole;
    if (fragment.file !== file && found.length > 1)
      throw new Error(`${file}: several files have a fragment ${name}`);
    const given = list === undefined || fragment.parameters.length === 0 ? [] : list.split(/, *(?![^(]*\))/);
    if (given.length !== fragment.parameters.length)
      throw new Error(`${file}: ${whole} needs ${fragment.parameters.join(', ') || 'nothing'}`);
    const filled = fragment.parameters.reduce(
      (body, parameter, n) => body.replaceAll(new RegExp(`(?<![:\\w]):${parameter}\\b`, 'g'), () => given[n]),
      fragment.text,
    );
    const rest = fragment.parameters.length === 0 && list !== undefined ? `(${list})` : '';
    return `${expanded(filled, fragment.file, fragments)}${rest}`;
  };
  const replaced = text.replaceAll(NAMED, expand);
  return replaced === text ? text : expanded(replaced, file, fragments);
}

/** `:ids` becomes a number, in the order of the first occurrences; a name in capitals is a value that TypeScript gives. */
function entryOf(name, folder, text, isFunction) {
  const parameters = [];
  const numbered = text.replaceAll(/(?<![:\w]):([a-z][a-z_0-9]*)\b/g, (_, parameter) => {
    if (!parameters.includes(parameter)) parameters.push(parameter);
    return `$${parameters.indexOf(parameter) + 1}`;
  });
  const values = [
    ...new Set([...text.matchAll(/(?<![:\w]):([A-Z][A-Z_0-9]*)\b/g)].map(([, value]) => value)),
  ];
  const escaped = numbered.replaceAll(/[\\`]|\$\{/g, String.raw`\$&`);
  const [begin, end] = isFunction ? ['{', '}'] : ['sqlStatement({', '})'];
  const list = (names, before) => (isFunction || names.length > 0 ? listOf(names, before) : '[] as never[]');
  return `  ${name}: ${begin}
    folder: '${folder}',
    parameters: ${list(parameters.map(camelCase), '    parameters: ')},
    values: ${list(values, '    values: ')},
    text: \`${escaped}\` as string,
  ${end},\n`;
}

/** As oxfmt formats it. */
function listOf(names, before) {
  const list = `[${names.map((name) => `'${name}'`).join(', ')}]`;
  if (before.length + list.length < 110) return list;
  return `[\n${names.map((name) => `      '${name}',\n`).join('')}    ]`;
}

const camelCase = (name) => name.replaceAll(/_([a-z])/g, (_, letter) => letter.toUpperCase());
