// npm run bench -- --gate: the rounds of the regression gate, and its result.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { metricsOf } from '../engines.mjs';
import { readLines } from '../report/lines.mjs';
import { compareAll, gateReport, isOpen } from './compare.mjs';
import { comparedOf } from './compared.mjs';

const PUBLISHED = fileURLToPath(new URL('../../docs/performance.json', import.meta.url));
export const GATE_ENGINES = 'saga,dbos';
export const GATE_MEASURES = 'limit,bare-commits';
export const GATE_ROUNDS = 5;
/** Times the rounds that were asked for: while a ratio is undecided, further rounds follow. */
const MOST = 2;

export class Gate {
  #published;

  /** @param against results of an earlier run (.jsonl), instead of the published figures */
  constructor(against) {
    this.#published = against?.endsWith('.jsonl')
      ? { machine: machineOf(readLines([against])), compared: comparedOf(readLines([against])) }
      : JSON.parse(readFileSync(against ?? PUBLISHED, 'utf8'));
  }

  /**
   * What to run, round by round. Engines and measures take turns within a round, and another engine goes first in each.
   * @param parts { engine(engine, name, args, round), measure(measure, round) } make a run of each
   */
  *schedule({ engines, measures, rounds, quick, results, parts }) {
    const [[name, argsOf]] = metricsOf(quick);
    for (let round = 1; round <= MOST * rounds; round += 1) {
      if (round > rounds && !isOpen(this.#rows(readLines([results])))) return;
      for (let k = 0; k < engines.length; k += 1) {
        const engine = engines[(k + round - 1) % engines.length];
        yield parts.engine(engine, name, argsOf(engine), round);
      }
      for (const measure of measures) yield parts.measure(measure, round);
    }
  }

  #rows = (lines) => compareAll(this.#published.compared ?? {}, comparedOf(lines));

  /** { text, passes } */
  report(lines) {
    const { text, passes } = gateReport(this.#rows(lines));
    return { text: [...this.#otherMachine(machineOf(lines)), text].join('\n\n'), passes };
  }

  #otherMachine(machine) {
    const published = this.#published.machine ?? {};
    const differs = ['processors', 'model'].filter((name) => published[name] !== machine[name]);
    return differs.map(
      (name) =>
        `NOTE: published on ${name} ${published[name]}; this run on ${machine[name]}. Ratios depend on the machine.`,
    );
  }
}

const machineOf = (lines) => lines.find(({ metric }) => metric === 'machine') ?? {};
