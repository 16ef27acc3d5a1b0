import { randomBytes } from 'node:crypto';
import type { SagaStatus, StepStatus } from 'nestjs-durable-saga';

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
} as const;
type Look = keyof typeof CODES;

/** Paints text, where there are colors. */
export type Paint = (look: Look, text: string) => string;

/**
 * Stands for the code of a color until the text is written: nothing that is stored can have the number of this process,
 * so that whatever else looks like a code of terminals came with a text, and is not let through.
 */
const NONCE = randomBytes(8).toString('hex');
const mark = (code: number | string): string => `\ufdd0${NONCE}${code}\ufdd1`;
const MARKS = new RegExp(`\ufdd0${NONCE}(\\d{1,3})\ufdd1`, 'g');

/** With the codes of colors, as a terminal takes them. */
export function colored(text: string): string {
  return text.replace(MARKS, '\x1b[$1m');
}

/** Without colors. */
export function uncolored(text: string): string {
  return text.replace(MARKS, '');
}

export function paintOn({ colors }: { readonly colors: boolean }): Paint {
  return (look, text) => {
    const [on, off] = CODES[look];
    return colors ? `${mark(on)}${text}${mark(off)}` : text;
  };
}

const LOOKS: Record<SagaStatus | StepStatus, Look> = {
  pending: 'dim',
  skipped: 'dim',
  running: 'blue',
  waiting: 'blue',
  completed: 'green',
  compensating: 'yellow',
  compensated: 'yellow',
  paused: 'yellow',
  suspended: 'red',
  stuck: 'red',
  failed: 'red',
  compensation_failed: 'red',
  aborted: 'red',
};

export function lookOf(status: SagaStatus | StepStatus): Look {
  return LOOKS[status];
}

/** A status in its color, if the terminal has colors. */
export function statusOn(terminal: { readonly colors: boolean }, status: SagaStatus | StepStatus): string {
  return paintOn(terminal)(LOOKS[status], status);
}

/** What is seen of a step at a glance, without colors too. */
export const SIGNS: Record<StepStatus, string> = {
  pending: '·',
  running: '▸',
  waiting: '…',
  completed: '✓',
  skipped: '-',
  failed: '✗',
  compensating: '↶',
  compensated: '↺',
  compensation_failed: '!',
};
