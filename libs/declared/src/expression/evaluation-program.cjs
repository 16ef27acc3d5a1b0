'use strict';
// CommonJS, as admin/from-this-folder.cjs: it knows its own path in every project that loads this package.

const { Worker } = require('node:worker_threads');

/** The path of this file, which is also the program of the process that evaluates. */
exports.FILE = __filename;

/** Levels of calls inside of an expression, items of a list, and milliseconds. */
const LIMITS = { stack: 250, sequence: 100_000, timeout: 1_000 };
/** Characters of the values of one request, as JSON. */
const LONGEST = 2 ** 24;
/** Problems of a value that are reported. */
const MOST_ISSUES = 20;
/** Expressions and schemas that are kept compiled. */
const MOST_COMPILED = 10_000;
/** A request that takes longer (ms) is of a process that has gone: it would have ended this one. */
const ABANDONED = 10_000;
/** What requests need. Loaded before the first one: on a busy machine it takes longer than a request may take. */
const PACKAGES = ['jsonata', 'ajv/dist/2020.js'];

if (require.main === module) serve();

function serve() {
  // The process that asks says when it has nothing more to ask. It may still need answers after a signal to all.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
  process.on('disconnect', () => process.exit());
  for (const name of PACKAGES)
    try {
      require(name);
    } catch {
      // A request that needs the package fails, and says so.
    }
  const turn = new Int32Array(new SharedArrayBuffer(4));
  watch(turn);
  let turns = 0;
  process.on('message', async (requests) => {
    Atomics.store(turn, 0, ++turns);
    const answers = [];
    for (const request of requests) answers.push(await answerOf(request));
    Atomics.store(turn, 0, 0);
    process.send(answers, () => undefined);
  });
}

/** Ends this process if one turn takes too long: its own events wait for that turn. */
function watch(turn) {
  const program = `const { workerData: { turn, time } } = require('node:worker_threads');
    let before = 0;
    setInterval(() => {
      const now = Atomics.load(turn, 0);
      if (now !== 0 && now === before) process.kill(process.pid, 'SIGKILL');
      before = now;
    }, time);`;
  new Worker(program, { eval: true, workerData: { turn, time: ABANDONED } }).unref();
}

async function answerOf({ sources, data, schema, text }) {
  if (schema !== undefined) return { issues: issuesOf(schema, text && JSON.parse(text)) };
  const values = [];
  let length = 0;
  try {
    for (const source of sources) {
      const one = await evaluated(source, data);
      length += one === undefined ? 0 : one.length;
      if (length > LONGEST) throw new Error(`its value has more than ${LONGEST} characters`);
      values.push(one);
    }
    return { values };
  } catch (error) {
    return { failed: values.length, message: String(error?.message ?? error) };
  }
}

async function evaluated(source, data) {
  const jsonata = require('jsonata');
  const expression = compiled(source, () => jsonata(source, LIMITS));
  const value = await expression.evaluate(data);
  if (typeof value === 'function' || value?._jsonata_lambda || value?._jsonata_function)
    throw new Error('it returns a function');
  return JSON.stringify(value);
}

/**
 * Formats are annotations, as the standard says. The schema itself was checked where its file was read; to check it again would
 * take thirty times as long as to compile it.
 */
function issuesOf(schema, value) {
  const validate = compiled(schema, () => {
    const { Ajv2020 } = require('ajv/dist/2020.js');
    const options = { allErrors: true, validateFormats: false, validateSchema: false, logger: false };
    const lax = { strictTypes: false, strictRequired: false, strictTuples: false };
    return new Ajv2020({ ...options, ...lax }).compile(JSON.parse(schema));
  });
  return validate(value) ? [] : validate.errors.slice(0, MOST_ISSUES).map(issueOf);
}

function issueOf({ instancePath, message = 'is invalid', params }) {
  const extra = params.additionalProperty;
  const path = instancePath.split('/').slice(1).map(unescaped);
  return { path, message: typeof extra === 'string' ? `must not have the property '${extra}'` : message };
}

/** A part of a JSON pointer. */
function unescaped(part) {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

const known = new Map();

function compiled(text, compile) {
  let one = known.get(text);
  if (one === undefined) {
    // Files are read again, and those of before are never asked again.
    if (known.size >= MOST_COMPILED) known.clear();
    known.set(text, (one = compile()));
  }
  return one;
}
