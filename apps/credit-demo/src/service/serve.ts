import { Logger, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { endWithParent, LOG_LEVELS, sayReady } from 'demo-support';
import { consumerOf, untilKept } from './brokers.js';
import { readEnvironment } from './environment.js';
import type { Service } from './service.js';

/** Runs a service: HTTP at once, messages as soon as the broker can be reached. */
export async function serve(service: Service, module: Type): Promise<void> {
  try {
    const { port } = readEnvironment();
    const app = await NestFactory.create(module, { abortOnError: false, logger: LOG_LEVELS });
    // Ctrl-C and SIGTERM: running requests, messages and steps finish, then the connections close.
    app.enableShutdownHooks([], { useProcessExit: true });
    endWithParent(app);
    // Without the application's filters, which answer HTTP: what fails here has to reach the broker.
    const consumer = app.connectMicroservice(consumerOf(service));
    // Before the broker: an order that comes in while it is down is stored, and waits in the outbox.
    await app.listen(port);
    await app.startAllMicroservices();
    await untilKept(service, consumer);
    const url = (await app.getUrl()).replace('[::1]', 'localhost');
    if (!sayReady({ url })) console.log(`The ${service} service listens at ${url}`);
  } catch (error) {
    new Logger('CreditDemo').error(`The ${service} service did not start: ${(error as Error).message}`);
    process.exit(1);
  }
}
