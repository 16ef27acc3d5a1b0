import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Injectable,
  NotFoundException,
  Param,
  Put,
} from '@nestjs/common';
import type { PipeTransform } from '@nestjs/common';
import type { Fault } from './fault.entity.js';
import { FaultsService } from './faults.service.js';
import { isParticipant, type Participant, PARTICIPANTS } from './participants.js';
import { SetFaultDto } from './set-fault.dto.js';

@Injectable()
class ParticipantPipe implements PipeTransform<string, Participant> {
  transform(name: string): Participant {
    if (isParticipant(name)) return name;
    throw new NotFoundException(
      `There is no participant '${name}'; there are: ${Object.keys(PARTICIPANTS).join(', ')}`,
    );
  }
}

/** Breaks participants on purpose, for the demo and for tests. */
@Controller('faults')
export class FaultsController {
  constructor(private readonly faults: FaultsService) {}

  @Get()
  all(): Promise<Fault[]> {
    return this.faults.all();
  }

  @Put(':participant')
  set(
    @Param('participant', ParticipantPipe) participant: Participant,
    @Body() fault: SetFaultDto,
  ): Promise<Fault[]> {
    return this.faults.set(participant, fault);
  }

  @Delete(':participant')
  @HttpCode(204)
  heal(@Param('participant', ParticipantPipe) participant: Participant): Promise<void> {
    return this.faults.clear(participant);
  }

  @Delete()
  @HttpCode(204)
  healAll(): Promise<void> {
    return this.faults.clear();
  }
}
