import { Module } from '@nestjs/common';
import { DatabaseServer } from 'demo-support';
import { readEnvironment } from '../environment.js';

/** Apart from DatabaseModule, which imports it: so Nest stops the server after the connections are closed. */
@Module({
  providers: [
    {
      provide: DatabaseServer,
      useFactory: () => DatabaseServer.at(readEnvironment().databaseUrl),
    },
  ],
  exports: [DatabaseServer],
})
export class DatabaseServerModule {}
