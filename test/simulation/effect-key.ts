import { stepOfKey } from '../../libs/saga/src/definition/graph/saga-graph.js';

/** The idempotency key of a step or item in a round, without the ending that compensations have. */
export function effectKey(saga: string, key: string, round: number): string {
  return `${saga}:${key}${round > 1 ? `~${round}` : ''}`;
}

/** The same for a call and for its undoing. */
export function effectKeyOf({ idempotencyKey }: { readonly idempotencyKey: string }): string {
  return idempotencyKey.replace(/:compensate$/, '');
}

export function partsOfKey(text: string): { saga: string; key: string; step: string; round: number } {
  const [saga, rest] = text.split(':') as [string, string];
  const [item, round = '1'] = rest.split('~') as [string, string?];
  return { saga, key: item, step: stepOfKey(item), round: Number(round) };
}
