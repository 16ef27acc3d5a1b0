// Whether a run lost speed since the published one: the rule is in README.md.
import { number, table } from '../report/format.mjs';
import { COMPARED } from './compared.mjs';

/** A greater loss than this part fails. */
export const TOLERATED = 0.1;
/** A run of fewer rounds does not show how noisy it is. */
export const LEAST_ROUNDS = 3;

/** Standard error of a median of few rounds, as a part of it: the spread divided by the number of rounds. */
const errorOf = ({ median, min, max, rounds }) => (max - min) / rounds / median;

/**
 * Compares one ratio. `loss` and `noise` are parts of the published ratio; a gain is a negative loss.
 * @param published, fresh { median, min, max, rounds }
 * @returns result: 'fail' if the loss exceeds what is tolerated by more than the noise; 'undecided' if it exceeds it by less;
 *   'not compared' if one of the two is missing or has too few rounds
 */
export function compare(published, fresh, better) {
  if (!((published?.rounds ?? 0) >= LEAST_ROUNDS && (fresh?.rounds ?? 0) >= LEAST_ROUNDS))
    return { result: 'not compared' };
  const kept = better === 'more' ? fresh.median / published.median : published.median / fresh.median;
  const loss = 1 - kept;
  const noise = 2 * Math.hypot(errorOf(published), errorOf(fresh));
  const result = loss - noise > TOLERATED ? 'fail' : loss > TOLERATED ? 'undecided' : 'pass';
  return { loss, noise, result };
}

/** Compares all: [{ what, published, fresh, loss, noise, result }]. */
export const compareAll = (published, fresh) =>
  COMPARED.map(({ what, better }) => ({
    ...{ what, published: published[what], fresh: fresh[what] },
    ...compare(published[what], fresh[what], better),
  }));

/** Whether further rounds could change the result. */
export const isOpen = (rows) =>
  rows.some(({ result, published, fresh }) => result === 'undecided' || (published && isShort(fresh)));

const isShort = (fresh) => (fresh?.rounds ?? 0) < LEAST_ROUNDS;

const percent = (part) => (part === undefined ? '' : `${number(100 * part)} %`);
const shown = (ratio) =>
  ratio ? `${number(ratio.median)} (${number(ratio.min)}–${number(ratio.max)}, ${ratio.rounds} rounds)` : '';

export function gateTable(rows) {
  return table(
    ['ratio', 'published', 'this run', 'loss', 'noise', ''],
    rows.map(({ what, published, fresh, loss, noise, result }) => [
      ...[what, shown(published), shown(fresh), percent(loss), percent(noise)],
      result === 'fail' ? '**FAIL**' : result,
    ]),
  );
}

/** What the gate reports, and whether it passes. It does not pass if there was nothing to compare. */
export function gateReport(rows) {
  const compared = rows.filter(({ result }) => result !== 'not compared');
  const failed = rows.filter(({ result }) => result === 'fail');
  const messages = failed.map(
    ({ what, loss, noise }) =>
      `REGRESSION: ${what}: ${percent(loss)} worse than published (tolerated: ${percent(TOLERATED)} and noise of ${percent(noise)})`,
  );
  if (compared.length === 0)
    messages.push(
      `NOTHING COMPARED: a ratio needs ${LEAST_ROUNDS} rounds in this run, and published ones in docs/performance.json.`,
    );
  return { text: [gateTable(rows), ...messages].join('\n'), passes: messages.length === 0 };
}
