import type { INestApplication, Type } from '@nestjs/common';
import { ifInstalled } from 'nestjs-durable-saga/internal';

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
