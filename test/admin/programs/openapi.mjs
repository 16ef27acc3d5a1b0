// The OpenAPI document of an application with the admin, as users make it. In a process of its own: the decorators are
// loaded by `require`, which test runners replace.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaModule } from 'nestjs-durable-saga';
import { SagaAdminModule } from 'nestjs-durable-saga-admin';

const module = class {};
Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: process.env.DATABASE_URL }),
    SagaModule.forRoot(),
    SagaAdminModule.register({ path: 'ops/sagas', guards: [] }),
  ],
})(module);
const app = await NestFactory.create(module, { logger: ['error', 'fatal'] });
app.setGlobalPrefix('internal');
await app.init();
const config = new DocumentBuilder().setTitle('Operating').build();
process.stdout.write(
  JSON.stringify(SwaggerModule.createDocument(app, config, { include: [SagaAdminModule] })),
);
await app.close();
