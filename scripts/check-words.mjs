/**
 * `npm run lint` runs this check. It finds words and phrases that this project does not use in texts that people read.
 * It reads string and template literals and comments of TypeScript and JavaScript (identifiers are not matched), and all
 * of Markdown and HTML except code blocks.
 *
 * `node scripts/check-words.mjs` checks what COVERED lists. `node scripts/check-words.mjs <file or folder>…` checks other
 * files. Exit code: 0 if nothing was found, 1 if a banned word was found, 2 if the lists below are out of date.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** What is banned, and what to use instead. */
const BANNED = [
  [/\b(gave|gives?|given|giving) up\b/i, 'fails, failed permanently, retries exhausted'],
  [/\bdefinitely failed\b/i, 'failed permanently'],
  [/\b(came|comes?|coming) to (no good|a good|its|their|an?|the) end\b/i, 'ends, fails'],
  [/\bturn(s|ed|ing)? (\w+ )?back\b/i, 'compensate, roll back'],
  [/\bways? back\b/i, 'compensation, rollback'],
  [/\b(nobody|somebody|whoever)\b/i, 'an operator, a worker, no process: name who it is'],
  [/\b(a|second|other|another) person\b/i, 'an operator, manual action, needs attention'],
  [/\bby hand\b/i, 'manually, manual action'],
  [/\bmend(s|ed|ing)?\b/i, 'fix, solution'],
  [/\bthe why\b/i, 'the reason, the cause'],
  [/\b(is|are|was|were|be|been|being|not) told\b/i, 'receives, is passed, reports'],
  [/(?<!\b(is|are|was|were|be|been) )\b(told|tells?) of\b/i, 'reports, records'],
  [/\b(heard|hears?)\b/i, 'receives'],
  [/\bunder way\b/i, 'running, in progress'],
  [/\b(is|are|was|busy|still) at it\b/i, 'runs it, running'],
  [/\bat rest\b/i, 'idle'],
  [/\bas wanted\b/i, 'as required, optional'],
  [/\b(is|are|was|were|be) begun\b/i, 'starts, begins execution'],
  [/\bwhat (\w+ )?(came|comes) (of|to)\b/i, 'result, outcome'],
  [/\berrands?\b/i, 'task, call: name it'],
  [/\bwitness(es)?\b/i, 'record, oracle: name it'],
  [/\bverdicts?\b/i, 'result, finding'],
  [/\bmedian and 95 of 100\b/i, 'p50 and p95'],
];
const STARTS_WITH_OF = 'a full sentence that says what it is or does';
/** Words that a docstring of the library does not begin with: it would need the one above. */
const NEEDS_ANOTHER = /^\/\*\*[\s*]*(It|Its|Itself|Those|They|The same|Also|And|As of|Neither)\b/;
const STANDS_ALONE = /(^|\/)libs\//;

/**
 * The files that the check covers. `strings`: string and template literals. `comments`: docstrings and comments. `text`:
 * Markdown and HTML.
 */
const COVERED = [
  { path: 'README.md', kinds: ['text'] },
  { path: 'CONTRIBUTING.md', kinds: ['text'] },
  // docs/options.md is generated from docstrings.
  {
    path: 'docs',
    kinds: ['text'],
    without: /\.ts$|docs\/(reference\/|options\.md$)/,
  },
  { path: 'CHANGELOG.md', kinds: ['text'] },
  // The specs of this check contain banned words on purpose. Pages are copied to libs/saga when it is packed.
  ...['libs', 'test', 'apps', 'bench', 'site', 'scripts'].map((path) => ({
    path,
    kinds: ['strings', 'comments', 'text'],
    without: /test\/packaging\/words\.spec\.ts$|libs\/saga\/([A-Z]+\.md$|docs\/)/,
  })),
];

/** Uses that stay. `file` is the end of a path; `text` is on the line of the hit. */
const EXCEPTIONS = [];

/** SQL in template literals: names of columns and of functions, which people do not read. */
const SQL = /\/store\/postgres\/(.*\.sql|sql\.generated)\.ts$/;
/** Files whose properties with these names contain code of the library. */
const MUTANTS = /\.mutants\.ts$/;
const CODE = ['find', 'replace'];

const given = process.argv.slice(2);
const scopes = given.length > 0 ? given.map((path) => ({ path })) : COVERED;
const problems = [];
const used = new Set();
const hits = scopes.flatMap(({ path, kinds, without }) => {
  const files = filesBelow(given.length > 0 ? path : join(ROOT, path)).filter((file) => !without?.test(file));
  if (files.length === 0) problems.push(`check-words: ${path} has no files; correct COVERED`);
  return files.flatMap((file) => hitsOf(file, kinds));
});
if (given.length === 0)
  for (const exception of EXCEPTIONS)
    if (!used.has(exception))
      problems.push(
        `check-words: the exception '${exception.text}' of ${exception.file} is unused; remove it`,
      );
for (const { file, line, word, instead } of hits)
  console.error(`${relative(process.cwd(), file)}:${line}: "${word}"; use: ${instead}`);
for (const problem of problems) console.error(problem);
if (hits.length > 0) console.error(`${hits.length} banned word(s). The list is in scripts/check-words.mjs.`);
process.exitCode = hits.length > 0 ? 1 : problems.length > 0 ? 2 : 0;

function filesBelow(path) {
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules' && name !== 'dist')
    .flatMap((entry) => filesBelow(join(path, entry.name)))
    .filter((file) => /\.(ts|mts|cts|js|mjs|cjs|md|html|sql)$/.test(file));
}

function hitsOf(file, kinds) {
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n');
  const parts = /\.(md|html)$/.test(file) ? [textOf(file, text)] : codeParts(file, text);
  return parts
    .filter(({ kind }) => kinds === undefined || kinds.includes(kind))
    .flatMap((part) => hitsIn(part, text, file))
    .map((hit) => ({ ...hit, file }))
    .filter(({ line }) => !isExcepted(file, lines[line - 1]));
}

function isExcepted(file, line) {
  const found = EXCEPTIONS.filter((one) => file.endsWith(one.file) && line.includes(one.text));
  for (const one of found) used.add(one);
  return found.length > 0;
}

function hitsIn({ kind, start, text: part }, whole, file) {
  // A phrase may go over the end of a line of a comment.
  const flat = part.replace(/\n[ \t]*(\/\/|--|\*(?!\/))?[ \t]*/g, (end) => ' '.padEnd(end.length));
  const spaced = flat.replace(/ {2,}/g, (many) => ' ' + '\0'.repeat(many.length - 1));
  const hits = BANNED.flatMap(([pattern, instead]) => {
    const flexible = new RegExp(pattern.source.replaceAll(' ', ' \\0*'), 'gi');
    return [...spaced.matchAll(flexible)].map(({ 0: word, index }) => ({
      line: lineAt(whole, start + index),
      word: word.replaceAll('\0', ''),
      instead,
    }));
  });
  if (kind === 'comments' && /^\/\*\*[\s*]*Of\b/.test(part))
    hits.push({ line: lineAt(whole, start), word: 'Of …', instead: STARTS_WITH_OF });
  const [, word] = (kind === 'comments' && STANDS_ALONE.test(file) && NEEDS_ANOTHER.exec(part)) || [];
  if (word !== undefined)
    hits.push({ line: lineAt(whole, start), word: `${word} …`, instead: 'a sentence that stands alone' });
  return hits;
}

function lineAt(text, position) {
  return text.slice(0, position).split('\n').length;
}

/** The whole page without its code blocks and inline code. */
function textOf(file, text) {
  const blank = (code) => code.replace(/[^\n]/g, ' ');
  const prose = file.endsWith('.md')
    ? text.replace(/^ *```[^]*?^ *```/gm, blank).replace(/`[^`\n]*`/g, blank)
    : text;
  // Of the changelog, released versions stay as they were published.
  const released = file.endsWith('CHANGELOG.md') ? prose.search(/^## (?!Unreleased)/m) : -1;
  return { kind: 'text', start: 0, text: released < 0 ? prose : prose.slice(0, released) };
}

function codeParts(file, text) {
  if (file.endsWith('.sql'))
    return [...text.matchAll(/(?:^ *--.*\n)+/gm)].map(({ 0: line, index }) => ({
      kind: 'comments',
      start: index,
      text: line,
    }));
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const isSql = SQL.test(file);
  const isMutants = MUTANTS.test(file);
  const comments = new Map();
  const strings = [];
  const visit = (node) => {
    for (const range of [
      ...(ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(text, node.end) ?? []),
    ])
      comments.set(range.pos, {
        kind: 'comments',
        start: range.pos,
        text: text.slice(range.pos, range.end),
      });
    if (isText(node) && !isSql && !(isMutants && isCode(node)))
      strings.push({ kind: 'strings', start: node.getStart(source), text: node.getText(source) });
    for (const child of node.getChildren(source)) visit(child);
  };
  visit(source);
  return [...comments.values(), ...strings];
}

/** Literals with spaces or a capital: the others are names. */
function isText(node) {
  const { kind, parent } = node;
  if (parent && (ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent))) return false;
  if (parent && ts.isLiteralTypeNode(parent)) return false;
  const isLiteral =
    ts.isStringLiteralLike(node) ||
    kind === ts.SyntaxKind.TemplateHead ||
    kind === ts.SyntaxKind.TemplateMiddle ||
    kind === ts.SyntaxKind.TemplateTail;
  return isLiteral && /\s|^['"`][A-Z]/.test(node.getText());
}

function isCode({ parent }) {
  return ts.isPropertyAssignment(parent) && CODE.includes(parent.name.getText());
}
