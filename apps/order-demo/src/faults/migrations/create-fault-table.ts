import type { MigrationInterface, QueryRunner } from 'typeorm';
import { DEMO_SCHEMA } from '../../database/schema.js';

export class CreateFaultTable implements MigrationInterface {
  readonly name = 'CreateFaultTable1763800000005';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE ${DEMO_SCHEMA}.fault (
        participant text NOT NULL,
        operation text NOT NULL,
        mode text NOT NULL,
        remaining int,
        delay int NOT NULL,
        PRIMARY KEY (participant, operation)
      )`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE ${DEMO_SCHEMA}.fault`);
  }
}
