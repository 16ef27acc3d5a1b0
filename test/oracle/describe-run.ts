import type { Entry } from './model-entries.js';
import { shortOf } from '../fixtures/state-of.js';

/** What happened, line by line, for people. */
export function describeEntry(entry: Entry): string[] {
  if (entry.type === 'decision') {
    const { actions, settle, events = [], wakeAt } = entry.decision;
    const words = actions.map(({ kind, key }) => `${kind} ${key}`);
    for (const { type, ...event } of events) words.push('step' in event ? `${type} ${event.step}` : type);
    if (settle) words.push(`settle ${settle}`);
    if (wakeAt !== undefined) words.push(`wake ${wakeAt}`);
    return [`  ${entry.now} decides: ${words.join(', ') || 'wait'}`];
  }
  if (entry.type === 'event') {
    const { error: _error, random: _random, ...event } = entry.event as unknown as Record<string, unknown>;
    const { status, rollbackTo } = entry.after;
    const saga = rollbackTo === undefined ? status : `${status} to ${rollbackTo}`;
    return [`${JSON.stringify(event)} → ${saga}: ${shortOf(entry.after)}`];
  }
  if (entry.type === 'child') return [`    ${entry.child.id} ${entry.what}: ${entry.child.status}`];
  if (entry.type === 'sent') return [`    ${entry.signal.name} ${entry.signal.number} is sent`];
  if (entry.type === 'decided') {
    const { step, by, approved, outcome } = entry;
    return [`    ${by} ${approved ? 'approves' : 'rejects'} ${step}: ${outcome}`];
  }
  if (entry.type === 'crashed') return ['crashed'];
  return [];
}
