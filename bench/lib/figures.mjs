// Times and figures, and one JSON line for each.
import { appendFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const now = () => performance.now();
export const round = (x, digits = 2) => Math.round(x * 10 ** digits) / 10 ** digits;

export const percentile = (xs, p) =>
  xs.slice().sort((a, b) => a - b)[Math.min(xs.length - 1, Math.floor(xs.length * p))];

/** Writes a figure to the terminal and to the file of results. */
export function writeLine(figure) {
  const line = JSON.stringify({
    ...figure,
    node: process.versions.node,
    round: figure.round ?? Number(process.env.ROUND ?? 0),
    at: new Date().toISOString(),
  });
  console.log(line);
  if (process.env.RESULTS) appendFileSync(process.env.RESULTS, `${line}\n`);
}
