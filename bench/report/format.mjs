import { summary } from './statistics.mjs';

/** 1,234 or 12.3 or 0.04: three figures that count, whole numbers from 100 on. */
export function number(x) {
  const size = Math.abs(x);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.01 || size === 0 ? 2 : 4;
  return x.toLocaleString('en', { maximumFractionDigits: digits });
}

/** Median and, of several values, the spread. */
export const spread = (xs) => summaryText(summary(xs));

/** The same of what `summary` has made. */
export function summaryText(all) {
  if (!all) return '';
  const [middle, least, most] = [all.median, all.min, all.max].map(number);
  return least === most ? middle : `${middle} (${least}–${most})`;
}

/** As markdown. */
export function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, n) => (n === 0 ? '---' : '--:'))), ...rows.map(line)].join('\n');
}
