// A relay in a process of its own, which can really be killed. The broker is its parent, asked by messages between them.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaMessagingModule } from 'nestjs-durable-saga-messaging';

const taken = new Map();
process.on('message', ({ id }) => {
  taken.get(id)?.();
  taken.delete(id);
});
process.on('disconnect', () => process.exit(0));

const transport = {
  send: (message) =>
    new Promise((resolve) => {
      taken.set(message.id, resolve);
      process.send(message);
    }),
};

const module = class {};
Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL }),
    SagaMessagingModule.forRoot({ transport, relay: { batch: 400, lease: '1s', pollInterval: 100 } }),
  ],
})(module);
await NestFactory.createApplicationContext(module, { logger: ['error', 'fatal'] });
