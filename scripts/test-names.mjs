/**
 * Lists the tests of a report of jest, or compares two reports, to show that no test is lost when files move.
 *
 * `npm run test:only -- -t 'no such test' --json --outputFile=before.json` writes a report with all names and runs no test.
 * `node scripts/test-names.mjs before.json` prints the tier, file and name of each test.
 * `node scripts/test-names.mjs before.json after.json` prints which tests moved to another file or group, which are gone
 * and which are new. A gone test is shown with the new test whose words are most alike. Exit code: 1 if tests are gone.
 */
import { readFileSync } from 'node:fs';
import { specsOf, TIERS } from '../test/support/tiers.mjs';

/** Below this part of common words, a new test is not shown as the successor of a gone one. */
const ALIKE = 0.4;

const [before, after] = process.argv.slice(2).map(testsOf);
if (after) compare(before, after);
else for (const { tier, file, name } of before) console.log(`${tier}\t${file}\t${name}`);

function testsOf(path) {
  const { testResults } = JSON.parse(readFileSync(path, 'utf8'));
  const broken = testResults.filter(({ assertionResults }) => assertionResults.length === 0);
  for (const { name, message } of broken) console.error(`${name} has no tests: ${message.split('\n', 1)[0]}`);
  const root = commonFolder(testResults.map(({ name }) => name));
  const tiers = Object.keys(TIERS).map((tier) => [tier, new RegExp(specsOf(tier, root.slice(0, -1)))]);
  return testResults.flatMap(({ name: path, assertionResults }) => {
    const [tier] = tiers.find(([, pattern]) => pattern.test(path)) ?? ['none'];
    return assertionResults.map(({ title, fullName }) => ({
      ...{ tier, file: path.slice(root.length), title, name: fullName },
    }));
  });
}

/** With the slash at its end. */
function commonFolder([first, ...others]) {
  let folder = first;
  do folder = folder.slice(0, folder.lastIndexOf('/', folder.length - 2) + 1);
  while (!others.every((path) => path.startsWith(folder)));
  return folder;
}

function compare(old, current) {
  const keys = [
    ({ file, name }) => `${file}\n${name}`,
    ({ name }) => name,
    ({ file, title }) => `${file}\n${title}`,
    ({ title }) => title,
  ];
  let [gone, added] = [old, current];
  const moved = [];
  for (const key of keys) {
    const pairs = pairsBy(key, gone, added);
    moved.push(...pairs.filter(([from, to]) => from.file !== to.file || from.name !== to.name));
    const matched = new Set(pairs.flat());
    [gone, added] = [gone, added].map((tests) => tests.filter((test) => !matched.has(test)));
  }
  const reworded = alike(gone, added);
  const matched = new Set(reworded.flat());
  for (const [from, to] of moved) console.log(`moved\t${textOf(from)}\n\t${textOf(to)}`);
  for (const [from, to] of reworded) console.log(`reworded\t${textOf(from)}\n\t${textOf(to)}`);
  for (const test of gone) if (!matched.has(test)) console.log(`gone\t${textOf(test)}`);
  for (const test of added) if (!matched.has(test)) console.log(`new\t${textOf(test)}`);
  const lost = gone.length - reworded.length;
  console.log(
    `${old.length} tests before, ${current.length} after: ${moved.length} moved, ${reworded.length} reworded, ` +
      `${lost} gone, ${added.length - reworded.length} new`,
  );
  process.exitCode = lost > 0 ? 1 : 0;
}

function textOf({ tier, file, name }) {
  return `${tier}\t${file}\t${name}`;
}

/** Tests of both lists with the same key; of several with one key, the first with the first. */
function pairsBy(key, old, current) {
  const waiting = grouped(current, key);
  return old.flatMap((test) => {
    const found = waiting.get(key(test))?.shift();
    return found ? [[test, found]] : [];
  });
}

function grouped(tests, key) {
  const groups = new Map();
  for (const test of tests) {
    const group = groups.get(key(test));
    if (group) group.push(test);
    else groups.set(key(test), [test]);
  }
  return groups;
}

/** Pairs of a gone and a new test with the most words in common; each test is in one pair at most. */
function alike(gone, added) {
  const words = new Map([...gone, ...added].map((test) => [test, wordsOf(test)]));
  const candidates = gone.flatMap((from) =>
    added.map((to) => ({ from, to, likeness: likeness(words.get(from), words.get(to)) })),
  );
  const taken = new Set();
  return candidates
    .filter((pair) => pair.likeness >= ALIKE)
    .sort((a, b) => b.likeness - a.likeness)
    .filter(({ from, to }) => !taken.has(from) && !taken.has(to) && taken.add(from).add(to))
    .map(({ from, to }) => [from, to]);
}

function wordsOf({ file, name }) {
  const folder = file.slice(file.lastIndexOf('/') + 1);
  return new Set(`${folder} ${name}`.toLowerCase().match(/\w+/g));
}

function likeness(one, other) {
  const common = [...one].filter((word) => other.has(word)).length;
  return common / (one.size + other.size - common);
}
