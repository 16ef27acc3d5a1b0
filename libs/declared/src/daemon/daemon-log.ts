import { ConsoleLogger } from '@nestjs/common';

/** Contexts of Nest whose lines describe the application, which is the same for everybody. */
const SILENT = ['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication'];

/** The log of the daemon: a line of JSON for each entry, or text. */
export class DaemonLog extends ConsoleLogger {
  constructor(format: 'json' | 'text') {
    super({ json: format === 'json', colors: format === 'text' && process.stdout.isTTY });
  }

  override log(message: unknown, ...more: unknown[]): void {
    const context = more.at(-1);
    if (typeof context === 'string' && SILENT.includes(context)) return;
    super.log(message, ...(more as []));
  }
}
