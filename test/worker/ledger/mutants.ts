import type { Fault } from './load-ledger.ts';

/** Faults that the exploration finds; each is a plausible mistake. */
export const MUTANTS: readonly (Fault & { readonly name: string })[] = [
  {
    name: 'close lets claims and starts go on',
    from: 'this.#isClosed = true;',
    to: '',
  },
  {
    name: 'close leaves what waits',
    from: 'this.#isClosed = true;\n        this.releaseWaiting(() => true);',
    to: 'this.#isClosed = true;',
  },
  {
    name: 'what a claim brings after the close waits for a start',
    from: 'if (this.#isClosed)\n            this.releaseWaiting(() => true);\n        this.#conditions.check();\n        return outlived;',
    to: 'this.#conditions.check();\n        return outlived;',
  },
  {
    name: 'the answer to a claim that was given up counts',
    from: 'if (!this.#claims.delete(reservation))\n            return false;',
    to: 'if (!this.#claims.delete(reservation))\n            return true;',
  },
  {
    name: 'a claim under way takes no room',
    from: 'this.#table.room - this.#reserved',
    to: 'this.#table.room',
  },
  {
    name: 'a second lost claim does not outlast the scan for the first',
    from: '!searched.has(lost)',
    to: 'false',
  },
  {
    name: 'a second lost claim puts off the scan for the first',
    from: '[...this.#lostClaims, { overAt }]',
    to: '[{ overAt }]',
  },
  {
    name: 'what waits is in the order in which it came',
    from: 'this.#waiting.sort((a, b) => byUrgency(a.task, b.task));\n        if (this.#isClosed)\n            this.releaseWaiting(() => true);\n        this.#conditions.check();\n        return outlived;',
    to: 'if (this.#isClosed)\n            this.releaseWaiting(() => true);\n        this.#conditions.check();\n        return outlived;',
  },
  {
    name: 'a task starts that does not wait',
    from: "if (entry.state !== 'waiting')\n            return false;",
    to: '',
  },
  {
    name: 'a task that starts waits on',
    from: "this.#leaveWaiting(entry);\n        entry.state = 'running';",
    to: "entry.state = 'running';",
  },
  {
    name: 'an attempt that has not begun waits on after the close',
    from: 'if (this.#isClosed)\n            this.releaseWaiting(() => true);\n        this.#conditions.check();\n        return true;',
    to: 'this.#conditions.check();\n        return true;',
  },
  {
    name: 'it is started in the lease table',
    from: 'this.#table.putBack(entry.slot);',
    to: '',
  },
  {
    name: 'it waits behind less urgent ones',
    from: 'this.#waiting = [entry, ...this.#waiting];\n        this.#waiting.sort((a, b) => byUrgency(a.task, b.task));',
    to: 'this.#waiting = [...this.#waiting, entry];',
  },
  {
    name: 'it is put back after its end',
    from: "if (entry.state !== 'running')\n            return false;\n        this.#leaveRunning(entry);",
    to: 'this.#leaveRunning(entry);',
  },
  {
    name: 'an attempt that shares a slot is counted after its end',
    from: 'this.#sharing -= 1;',
    to: '',
  },
  {
    name: 'an abandoned task that ends after all stays abandoned',
    from: 'this.#abandoned -= 1;',
    to: '',
  },
  {
    name: 'a task is abandoned twice',
    from: "entry.state !== 'running' || entry.isAbandoned",
    to: "entry.state !== 'running'",
  },
  {
    name: 'an attempt that was given up reports once more when it ends',
    from: 'if (!this.#withdraw(entry))\n            return false;\n        this.#reports.add(entry);',
    to: 'this.#withdraw(entry);\n        this.#reports.add(entry);',
  },
  {
    name: 'a report that is with the database is sent again',
    file: 'reports',
    from: 'this.#waiting = left;',
    to: '',
  },
  {
    name: 'a report that there is no room for is dropped',
    file: 'reports',
    from: 'left.push(entry);',
    to: ';',
  },
  {
    name: 'what got no answer is not sent again',
    file: 'reports',
    from: 'this.#waiting = [...back, ...this.#waiting];',
    to: '',
  },
  {
    name: 'what was answered is sent again with what got no answer',
    file: 'reports',
    from: 'const back = sent.filter(({ isSent }) => isSent);',
    to: "const back = sent.filter(({ state }) => state !== 'waiting' && state !== 'running');",
  },
  {
    name: 'a busy report is dropped',
    file: 'reports',
    from: 'this.#waiting.push(entry);\n        return true;',
    to: 'return true;',
  },
  {
    name: 'a second answer counts',
    file: 'reports',
    from: 'if (!entry.isSent)\n            return false;\n        entry.isSent = false;\n        this.#size -= 1;',
    to: 'entry.isSent = false;\n        this.#size -= 1;',
  },
  {
    name: 'a give-back is taken for an outcome',
    from: 'return held.outcome !== null && ',
    to: 'return ',
  },
  {
    name: 'a report that is refused by itself is not counted',
    file: 'reports',
    from: 'this.#alone.add(entry);',
    to: ';',
  },
  {
    name: 'it is counted after its answer',
    file: 'reports',
    from: 'this.#alone.delete(entry);',
    to: ';',
  },
  {
    name: 'the loss of a task whose report is on its way drops it',
    from: 'if (!this.#withdraw(entry))\n            return false;\n        this.#leave(entry);',
    to: 'this.#withdraw(entry);\n        this.#leave(entry);',
  },
  {
    name: 'a task that its own transaction completed stays held',
    from: 'entry.ranMs = ranMs;\n        this.#leave(entry);',
    to: 'entry.ranMs = ranMs;',
  },
  {
    name: 'it is counted as running on',
    from: 'if (!this.#withdraw(entry))\n            return false;\n        entry.outcome = outcome;\n        entry.ranMs = ranMs;\n        this.#leave(entry);',
    to: 'entry.outcome = outcome;\n        entry.ranMs = ranMs;\n        this.#leave(entry);',
  },
  {
    name: 'it leaves without its outcome',
    from: 'entry.outcome = outcome;\n        entry.ranMs = ranMs;\n        this.#leave(entry);',
    to: 'entry.ranMs = ranMs;\n        this.#leave(entry);',
  },
  {
    name: 'an older lease of a task that a claim brings goes on',
    from: "entry.state !== 'reporting' && ids.has(entry.id)",
    to: 'false',
  },
  {
    name: 'so does that of a task that waits',
    from: "entry.state !== 'reporting' && ids.has(entry.id)",
    to: "entry.state === 'running' && ids.has(entry.id)",
  },
  {
    name: 'a report is lost because a claim brings its task again',
    from: "entry.state !== 'reporting' && ids.has(entry.id)",
    to: 'ids.has(entry.id)',
  },
  {
    name: 'a claim ends every lease',
    from: "entry.state !== 'reporting' && ids.has(entry.id)",
    to: "entry.state !== 'reporting'",
  },
  {
    name: 'so does one whose answer came too late',
    from: 'if (!this.#end(reservation))\n            return [];\n        const outlived = this.#unreportedOf(tasks);',
    to: 'const outlived = this.#unreportedOf(tasks);\n        if (!this.#end(reservation))\n            return outlived;',
  },
  {
    name: 'a lease that is over stays in the table',
    from: 'this.#table.remove(entry.slot);',
    to: '',
  },
  {
    name: 'a task that is over stays held',
    from: 'this.#bySlot[entry.slot] = undefined;',
    to: '',
  },
  {
    name: 'the end of a suspect that ran inline is not counted',
    from: 'this.#suspects.ended(entry.task, entry.attempt.isIsolated);',
    to: '',
  },
  {
    name: 'a last chance that is given back unstarted keeps its place',
    from: 'this.#suspects.left(entry.task);\n            this.#reports.add(entry);',
    to: 'this.#reports.add(entry);',
  },
  {
    name: 'a last chance that is lost keeps its place',
    from: 'this.#suspects.left(entry.task);\n        return true;',
    to: 'return true;',
  },
  {
    name: 'a suspect in a process of its own counts as inline',
    file: 'suspects',
    from: 'if (!isIsolated)\n            this.runningSuspectsInline += by;',
    to: 'this.runningSuspectsInline += by;',
  },
  {
    name: 'a second last chance does not wait for the first',
    from: ' || this.#suspects.runningLastChances > 0',
    to: '',
  },
  {
    name: 'what may run here has changed, and a claim in flight does not know',
    from: 'reservation.isOutdated = true;',
    to: 'break;',
  },
  {
    name: 'a report that waits for its time is not sent at the close',
    file: 'reports',
    from: 'entry.delivery = { ...delivery, notBefore: at };',
    to: 'break;',
  },
  {
    name: 'an outcome is replaced that is not with the database',
    file: 'reports',
    from: 'if (!entry.isSent)\n            return false;\n        entry.outcome = outcome;',
    to: 'entry.outcome = outcome;',
  },
  {
    name: 'an outcome that the database refuses stays',
    file: 'reports',
    from: 'entry.outcome = outcome;',
    to: '',
  },
  {
    name: 'the wait for none to run waits for what was abandoned',
    from: 'this.#running === this.#abandoned',
    to: 'this.#running === 0',
  },
  {
    name: 'it is not woken when a task is abandoned',
    from: 'this.#abandoned += 1;\n        this.#conditions.check();',
    to: 'this.#abandoned += 1;',
  },
  {
    name: 'the wait for emptiness overlooks a claim under way',
    from: 'this.#conditions.until(() => this.size === 0 && this.#claims.size === 0)',
    to: 'this.#conditions.until(() => this.size === 0)',
  },
  {
    name: 'it is not woken by the end of the last task',
    from: 'this.#table.remove(entry.slot);\n        this.#conditions.check();',
    to: 'this.#table.remove(entry.slot);',
  },
];
