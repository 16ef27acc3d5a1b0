// An application whose @nestjs/swagger is not installed, and which is CommonJS: it requires the entry.
import 'reflect-metadata';
import Module, { createRequire } from 'node:module';
import { Module as NestModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';

const resolve = Module._resolveFilename;
Module._resolveFilename = function (name, ...rest) {
  if (name === '@nestjs/swagger') throw Object.assign(new Error(`no ${name}`), { code: 'MODULE_NOT_FOUND' });
  return resolve.call(this, name, ...rest);
};
const require = createRequire(import.meta.url);
const { SagaModule } = require('nestjs-durable-saga');
const { SagaAdminModule } = require('nestjs-durable-saga-admin');

const module = class {};
NestModule({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL }),
    SagaModule.forRoot(),
    SagaAdminModule.register({ guards: [] }),
  ],
})(module);
const app = await NestFactory.create(module, { logger: ['error', 'fatal'] });
await app.listen(0, '127.0.0.1');
const answers = {};
for (const path of ['', '/api/sagas', '/api/definitions'])
  answers[path] = (await fetch(`${await app.getUrl()}/sagas${path}`)).status;
process.stdout.write(JSON.stringify(answers));
await app.close();
