import { oneLine } from '../../shared/one-line.js';
import type { ProgressSnapshot } from './saga-snapshot.js';

/** What a step reported of its progress, in words: `43 %, line 4,300`. */
export function describeProgress({
  percent,
  message,
}: Pick<ProgressSnapshot, 'percent' | 'message'>): string {
  const done = percent === undefined ? undefined : `${Math.floor(percent)} %`;
  return [done, message && oneLine(message)].filter(Boolean).join(', ');
}
