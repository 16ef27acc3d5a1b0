import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DatabaseServer, endWithParent, LOG_LEVELS, sayReady } from 'demo-support';
import { AppModule } from './app.module.js';
import { readArguments, readEnvironment } from './environment.js';
import { whatToTry } from './http/what-to-try.js';

/** The API process: `npm start`. With SAGA_WORKER=off it leaves the sagas to worker processes (worker.ts). */
async function serve(): Promise<void> {
  readArguments();
  const { port } = readEnvironment();
  const app = await NestFactory.create(AppModule, { abortOnError: false, logger: LOG_LEVELS });
  // Ctrl-C and SIGTERM: running requests and steps finish, then connections and the database close.
  app.enableShutdownHooks([], { useProcessExit: true });
  endWithParent(app);
  try {
    // On this machine alone: the dashboard has no guards.
    await app.listen(port, '127.0.0.1');
  } catch (error) {
    await app.close();
    throw error;
  }
  const url = await app.getUrl();
  if (!sayReady({ url })) console.log(whatToTry(url, app.get(DatabaseServer)));
}

serve().catch((error: Error) => {
  new Logger('OrderDemo').error(`The order service did not start: ${error.message}`, error.stack);
  process.exit(1);
});
