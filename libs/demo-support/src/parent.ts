import type { INestApplicationContext, LogLevel } from '@nestjs/common';

/** A forked process speaks up only when something is wrong. */
export const LOG_LEVELS: LogLevel[] = process.send
  ? ['warn', 'error', 'fatal']
  : ['log', 'warn', 'error', 'fatal'];

/** What a process says to the one that forked it, once it is ready. */
export interface Ready {
  /** Where it serves HTTP, if it does. */
  readonly url?: string;
}

/** @returns false when no parent listens, because this process was started manually */
export function sayReady(ready: Ready): boolean {
  return process.send?.(ready) ?? false;
}

/** Ends a forked process when its parent exits or crashes. Nothing else would end it. */
export function endWithParent(app: INestApplicationContext): void {
  process.once('disconnect', () => {
    void app.close().finally(() => process.exit(0));
  });
}
