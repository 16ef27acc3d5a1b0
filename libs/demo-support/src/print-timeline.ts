import { type Colour, paint } from './terminal.js';
import type { TimelineEntry } from 'nestjs-durable-saga/operators';
import type { Json } from './http-client.js';
import type { SagaTimeline } from './saga-timeline.js';

type Event = Json<TimelineEntry>;
type Look = readonly [mark: string, colour: Colour];

const FAILED: Look = ['✘', 'red'];
const LOOK_OF_STEP: Readonly<Record<string, Look>> = {
  completed: ['✔', 'green'],
  compensated: ['↶', 'yellow'],
  compensation_failed: FAILED,
};
const LOOK_OF_SAGA: Readonly<Record<string, Look>> = {
  completed: ['■', 'green'],
  compensated: ['■', 'yellow'],
  stuck: ['■', 'red'],
};

/** @param after only what happened since then (an event's `at`) */
export function printTimeline(timeline: Json<SagaTimeline>, after = ''): void {
  const start = Date.parse(timeline.events[0]!.at);
  for (const event of timeline.events) {
    // When a step began is in the answer, and would make the story long.
    if (event.at <= after || (event.kind === 'step' && event.status === 'running')) continue;
    const [mark, colour] = lookOf(event);
    const time = `+${((Date.parse(event.at) - start) / 1_000).toFixed(3)}s`.padStart(9);
    console.log(`   ${paint('dim', time)}  ${paint(colour, mark)} ${describe(event, timeline)}`);
  }
}

function lookOf({ kind, status }: Event): Look {
  if (kind === 'attempt-failed' || kind === 'attempt-lost') return FAILED;
  return (kind === 'saga' ? LOOK_OF_SAGA : LOOK_OF_STEP)[status ?? ''] ?? ['·', 'dim'];
}

function describe({ kind, status, text, error }: Event, { failure, waitingFor }: Json<SagaTimeline>): string {
  if (error) return `${text}: ${error.cause?.name ?? error.name}: ${error.message}`;
  if (kind !== 'saga' || status === 'running') return text;
  if (waitingFor) return paint('bold', `${text}, and waits for ${waitingFor}`);
  return paint('bold', failure && status !== 'completed' ? `${text} (${failure})` : text);
}
