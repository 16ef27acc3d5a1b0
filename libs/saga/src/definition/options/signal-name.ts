import { type Kind, LONGEST_NAME, UNREADABLE } from './option-reader.js';

/** What a name of a signal has to be instead; undefined: it is one. */
export function signalNameFlaw(name: unknown): string | undefined {
  if (typeof name !== 'string' || name === '' || name.length > LONGEST_NAME || UNREADABLE.test(name))
    return `give a name of 1 to ${LONGEST_NAME} characters, without control characters`;
  return name.startsWith(APPROVAL_PREFIX)
    ? `names that begin with '${APPROVAL_PREFIX}' are reserved for approvals; choose another name`
    : undefined;
}

export const signalName: Kind<string> = {
  read: (value, option, reader) => {
    const flaw = signalNameFlaw(value);
    return flaw === undefined ? value : reader.refuse(value, option, flaw);
  },
};

/** What the names of signals that stand for people's decisions begin with. */
export const APPROVAL_PREFIX = 'approval:';
