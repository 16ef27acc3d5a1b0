import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaModule, SagaOperations, SagaService } from 'nestjs-durable-saga';
import { DataSource } from 'typeorm';
import { onEngine } from '../engine.js';
import { outcomesOf } from '../outcomes-of.js';
import * as graph from './graph.js';

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL }),
    SagaModule.forRootAsync({ useFactory: onEngine }),
  ],
  providers: graph.graphProviders,
})
class AppModule {}

/** What users of the step graph do, by the documentation alone, on any engine. Prints what became of each scene. */
async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
  const sagas = app.get(SagaService);
  const operations = app.get(SagaOperations);
  const source = app.get(DataSource);
  await source.query('CREATE TABLE IF NOT EXISTS scene_entry (id text, entry text, n serial)');
  const scenes: Record<string, () => Promise<void>> = {
    waves: () => graph.waves(sagas),
    race: () => graph.race(sagas),
    items: () => graph.items(sagas),
    savepoint: () => graph.savepoint(sagas),
    pivot: () => graph.pivot(sagas, operations),
    probe: () => graph.probe(sagas),
    optional: () => graph.optional(sagas),
    subSagas: () => graph.subSagas(sagas),
    remoteSteps: () => graph.remoteSteps(sagas, source),
    transactions: () => graph.transactions(sagas, source),
  };
  console.log(JSON.stringify(await outcomesOf(scenes)));
  await app.close();
}

void main();
