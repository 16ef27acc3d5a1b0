import type { INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaModule } from 'nestjs-durable-saga';

/** An application with sagas and whatever else a promise needs. `first`: modules that are imported before SagaModule. */
export function smallApp(
  url: string,
  parts: ModuleMetadata & { readonly first?: NonNullable<ModuleMetadata['imports']> },
): Promise<INestApplicationContext> {
  const { first = [], imports = [], ...rest } = parts;
  const module = {
    module: class SmallModule {},
    imports: [...first, TypeOrmModule.forRoot({ type: 'postgres', url }), SagaModule.forRoot(), ...imports],
    ...rest,
  };
  return NestFactory.createApplicationContext(module, { logger: ['error'], abortOnError: false });
}

export const soon = (ms = 20): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** @throws an error with the name of what did not happen within a minute */
export async function until(what: string, happened: () => unknown): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await happened()); await soon())
    if (Date.now() > deadline) throw new Error(`It never happened: ${what}`);
}
