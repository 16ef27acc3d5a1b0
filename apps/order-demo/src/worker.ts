import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { endWithParent, LOG_LEVELS, sayReady } from 'demo-support';
import { AppModule } from './app.module.js';
import { readEnvironment } from './environment.js';

/** A worker process: the same application without HTTP. Any number of them may share one database. */
async function work(): Promise<void> {
  if (!readEnvironment().databaseUrl) {
    throw new Error('a worker shares the database of an API process. Give that one in DATABASE_URL');
  }
  const app = await NestFactory.createApplicationContext(AppModule, {
    abortOnError: false,
    logger: LOG_LEVELS,
  });
  app.enableShutdownHooks([], { useProcessExit: true });
  endWithParent(app);
  sayReady({});
}

work().catch((error: Error) => {
  new Logger('OrderDemo').error(`The worker did not start: ${error.message}`, error.stack);
  process.exit(1);
});
