import type { SagaStatus, StepStatus } from '../machine/saga-state.js';
import type { Terminal } from './terminal.js';

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

export function paintOn({ colors }: Pick<Terminal, 'colors'>): Paint {
  return (look, text) => {
    const [on, off] = CODES[look];
    return colors ? `\x1b[${on}m${text}\x1b[${off}m` : text;
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
