'use strict';
// CommonJS, as admin/from-this-folder.cjs: it knows its own path in every project that loads this package.

const { workerData } = require('node:worker_threads');

/** The path of this file, which is also the program of the worker thread. */
exports.FILE = __filename;

/** Levels of calls inside of an expression, and items of a list. */
const LIMITS = { stack: 250, sequence: 100_000 };

if (workerData?.sagaExpressions) serve(workerData.sagaExpressions);

function serve({ port, signal, timeout }) {
  const jsonata = require('jsonata');
  const done = new Int32Array(signal);
  const compiled = new Map();

  const evaluate = async (source, data) => {
    if (!compiled.has(source)) compiled.set(source, jsonata(source, { ...LIMITS, timeout }));
    const value = await compiled.get(source).evaluate(data);
    if (typeof value === 'function' || value?._jsonata_lambda || value?._jsonata_function)
      throw new Error('it returns a function');
    return JSON.stringify(value);
  };

  port.on('message', async ({ sources, data }) => {
    const values = [];
    let answer = { values };
    try {
      for (const source of sources) values.push(await evaluate(source, data));
    } catch (error) {
      answer = { failed: values.length, message: String(error?.message ?? error), code: error?.code };
    }
    port.postMessage(answer);
    Atomics.add(done, 0, 1);
    Atomics.notify(done, 0);
  });
}
