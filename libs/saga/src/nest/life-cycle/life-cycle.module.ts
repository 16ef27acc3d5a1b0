import { Module } from '@nestjs/common';
import { ApplicationLifeCycle } from './application-life-cycle.js';

/** Holds ApplicationLifeCycle alone: hooks are ordered by module. One for the application, however many modules import it. */
@Module({ providers: [ApplicationLifeCycle], exports: [ApplicationLifeCycle] })
export class LifeCycleModule {}
