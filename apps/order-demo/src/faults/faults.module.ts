import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Fault } from './fault.entity.js';
import { FaultsController } from './faults.controller.js';
import { FaultsService } from './faults.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([Fault])],
  controllers: [FaultsController],
  providers: [FaultsService],
  exports: [FaultsService],
})
export class FaultsModule {}
