import { inspect } from 'node:util';
import { ConsoleLogger, Logger, type LoggerService } from '@nestjs/common';
import type { EngineLog, LogSubject } from '../engine/ports/engine-log.js';

type Level = 'debug' | 'log' | 'warn' | 'error';

/**
 * The engine's log by Nest's Logger: plain text where people read it. Where a logger of JSON is used, the saga, its id
 * and the step are fields: of Nest's own as it takes fields, of others (pino, winston) as fields of the message.
 */
export class SagaLog implements EngineLog {
  private readonly logger: Logger;

  constructor(context: string) {
    this.logger = new Logger(context);
  }

  debug(message: string, about?: LogSubject): void {
    this.write('debug', message, about);
  }

  log(message: string, about?: LogSubject): void {
    this.write('log', message, about);
  }

  warn(message: string, about?: LogSubject): void {
    this.write('warn', message, about);
  }

  error(message: string, stack?: string, about?: LogSubject): void {
    this.write('error', message, about, stack);
  }

  private write(level: Level, message: string, about: LogSubject | undefined, stack?: string): void {
    const more = stack === undefined ? [] : [stack];
    const fields = about && shapeFor(loggerInUse());
    if (fields === undefined || fields === 'none') return this.logger[level](message, ...more);
    if (fields === 'beside') return this.logger[level](message, { ...about }, ...more);
    try {
      this.logger[level](new LogLine(message, about!), ...more);
    } catch {
      // A logger of the application's own may know texts only.
      this.logger[level](message, ...more);
    }
  }
}

/** A message with fields. A logger that prints it shows its text. */
class LogLine implements LogSubject {
  declare readonly sagaId?: string;
  declare readonly saga?: string;
  declare readonly step?: string;

  constructor(
    readonly message: string,
    about: LogSubject,
  ) {
    Object.assign(this, about);
  }

  toString(): string {
    return this.message;
  }

  [inspect.custom](): string {
    return this.message;
  }
}

/** Where a logger takes fields: not at all, beside the message, or in it. */
function shapeFor(logger: LoggerService | undefined): 'none' | 'beside' | 'within' {
  if (!(logger instanceof ConsoleLogger)) return logger ? 'within' : 'none';
  const { options } = logger as unknown as { options?: { json?: boolean; structuredParams?: boolean } };
  // Nest takes them since version 12, where such an object is not a message of its own any more.
  const takesFields = 'extractJsonError' in logger && options?.structuredParams !== false;
  return options?.json && takesFields ? 'beside' : 'none';
}

/** That of the application: what `NestFactory.create(…, { logger })` or `useLogger` was given. */
function loggerInUse(): LoggerService | undefined {
  return (Logger as unknown as { staticInstanceRef?: LoggerService }).staticInstanceRef;
}
