import { type Colour, paint } from 'demo-support';
import type { Json } from './http-client.js';
import type { SagaTimeline, TimelineEvent } from './saga-timeline.js';

type Event = Json<TimelineEvent>;

const LOOK: Readonly<Record<string, readonly [mark: string, colour: Colour]>> = {
  done: ['✔', 'green'],
  'attempt failed': ['✘', 'red'],
  undone: ['↶', 'yellow'],
  'undoing failed': ['✘', 'red'],
  'gave up': ['✘', 'red'],
  completed: ['■', 'green'],
  compensated: ['■', 'yellow'],
  stuck: ['■', 'red'],
};

/** @param after only what happened since then (an event's `at`) */
export function printTimeline(timeline: Json<SagaTimeline>, after = ''): void {
  const start = Date.parse(timeline.events[0]!.at);
  for (const event of timeline.events) {
    if (event.at <= after) continue;
    const [mark, colour] = LOOK[event.event] ?? ['·', 'dim'];
    const time = `+${((Date.parse(event.at) - start) / 1_000).toFixed(3)}s`.padStart(9);
    console.log(`   ${paint('dim', time)}  ${paint(colour, mark)} ${describe(event, timeline)}`);
  }
}

function describe(event: Event, timeline: Json<SagaTimeline>): string {
  if (!event.step) return event.event === 'started' ? 'started' : paint('bold', ending(event, timeline));
  const step = event.step.padEnd(13);
  const note = event.note ? paint('dim', ` (${event.note})`) : '';
  if (event.error) return `${step} ${event.event} (${event.attempt}): ${event.error}`;
  const attempts = event.attempt && event.attempt > 1 ? `, at attempt ${event.attempt}` : '';
  return `${step} ${event.event}${attempts}${note}`;
}

function ending({ event }: Event, { failure, waitingFor }: Json<SagaTimeline>): string {
  if (waitingFor) return `${event}, waiting for ${waitingFor}`;
  return failure && event !== 'completed' ? `${event} (${failure})` : event;
}
