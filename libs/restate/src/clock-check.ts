import { type EngineLog, SagaConfigurationError } from 'nestjs-durable-saga/internal/backend';
import { request } from './restate-errors.js';
import { ANSWERS_WITHIN, untilAnswered } from './until-answered.js';

/** The largest difference (ms) that is taken for none: what a start that is slow, or a pause of the process, looks like. */
const LARGEST = 10_000;
const EVERY = 60_000;

/**
 * Compares the clock of this process with Restate's. What is due is stored by the clocks of the processes: one that is wrong would
 * make sagas late, or early, also after it has ended.
 * @throws SagaConfigurationError if the difference is larger than 10 s
 */
export async function requireClock(admin: string): Promise<void> {
  const problem = problemOf(await untilAnswered(`${admin} does not answer`, () => aheadOf(admin)));
  if (problem !== undefined) throw new SagaConfigurationError(problem);
}

/** Logs a difference each minute, as long as there is one. Returns what ends that. */
export function watchClock(admin: string, log: Pick<EngineLog, 'error'>, every = EVERY): () => void {
  const look = async (): Promise<void> => {
    // While there is no answer there is nothing to compare.
    const problem = problemOf(await aheadOf(admin).catch(() => 0));
    if (problem !== undefined) log.error(problem);
  };
  const timer = setInterval(() => void look(), every);
  timer.unref();
  return () => clearInterval(timer);
}

/** How far (ms) the clock of this process is ahead of Restate's, as far as an answer shows, which has whole seconds. */
async function aheadOf(admin: string): Promise<number> {
  const sent = Date.now();
  const { headers } = await request(new URL('/health', admin), {
    signal: AbortSignal.timeout(ANSWERS_WITHIN),
  });
  const date = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(date)) return 0;
  return Math.max(0, sent - date) + Math.min(0, Date.now() - date);
}

function problemOf(ahead: number): string | undefined {
  if (Math.abs(ahead) <= LARGEST) return undefined;
  const difference = `${Math.round(Math.abs(ahead) / 1_000)} s ${ahead > 0 ? 'ahead of' : 'behind'}`;
  return (
    `The clock of this process is ${difference} the clock of Restate. Sagas on Restate go by the clocks of the processes, and ` +
    'would be late or early. Synchronize the clock, by NTP for example.'
  );
}
