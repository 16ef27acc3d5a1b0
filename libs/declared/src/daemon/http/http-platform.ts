import type { INestApplication, Type } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { SagaConfigurationError } from 'nestjs-durable-saga';
import { ifInstalled } from 'nestjs-durable-saga/internal';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** An HTTP platform of Nest. */
export interface HttpPlatform {
  readonly adapter: AbstractHttpAdapter;
  /** To be called before the application is initialised. */
  prepare(app: INestApplication): void;
  /** What answers requests once the application is initialised. */
  answer(): Promise<Answer>;
}

/** Bytes of a request beside its input. */
const BESIDE_INPUT = 64 * 2 ** 10;

/**
 * Returns the platform that is installed: express, or otherwise fastify.
 * @param maxInput bytes
 * @throws SagaConfigurationError that names the package to install
 */
export async function httpPlatform(maxInput: number): Promise<HttpPlatform> {
  const limit = maxInput + BESIDE_INPUT;
  const express = await import('@nestjs/platform-express').catch(ifInstalled);
  if (express) {
    const adapter = new express.ExpressAdapter();
    return {
      adapter,
      prepare: () => adapter.useBodyParser('json', false, { limit }),
      answer: async () => adapter.getInstance<Answer>(),
    };
  }
  const fastify = await import('@nestjs/platform-fastify').catch(ifInstalled);
  if (fastify) {
    const options = { bodyLimit: limit, routerOptions: { ignoreTrailingSlash: true } };
    const adapter = new fastify.FastifyAdapter(options) as unknown as AbstractHttpAdapter;
    return { adapter, prepare: () => undefined, answer: () => answerOfFastify(adapter) };
  }
  throw new SagaConfigurationError(
    'saga serve requires @nestjs/platform-express (or @nestjs/platform-fastify). Run npm install @nestjs/platform-express.',
  );
}

async function answerOfFastify(adapter: AbstractHttpAdapter): Promise<Answer> {
  const instance = adapter.getInstance<{ ready(): PromiseLike<unknown>; routing: Answer }>();
  await instance.ready();
  return (request, response) => instance.routing(request, response);
}

/** Returns the OpenAPI document of a module's routes. Undefined: `@nestjs/swagger` is not installed. */
export async function openApiOf(app: INestApplication, module: Type): Promise<object | undefined> {
  const swagger = await import('@nestjs/swagger').catch(ifInstalled);
  if (!swagger) return undefined;
  const config = new swagger.DocumentBuilder()
    .setTitle('Sagas')
    .setDescription('Starts, reads and operates the sagas of saga serve.')
    .addBearerAuth()
    .addBasicAuth()
    .addSecurityRequirements('bearer')
    .addSecurityRequirements('basic')
    .build();
  return swagger.SwaggerModule.createDocument(app, config, { include: [module] });
}
