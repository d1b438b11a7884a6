// Queries and changes of tables.
grammar Query;

options { caseInsensitive = true; }

script : (command ';')* EOF ;

command
    : query orderBy? limit?
    | insert
    | update
    | delete
    | createTable
    | createIndex
    | drop
    ;

query
    : left=query kind=('union' | 'except' | 'intersect') 'all'? right=query   # combined
    | 'select' ('all' | 'distinct')? column (',' column)* from? where? groupBy? # selected
    | 'values' row (',' row)*                                                  # given
    | '(' query orderBy? limit? ')'                                            # nested
    ;

column : '*' | name '.' '*' | expression ('as'? name)? ;

from : 'from' source (',' source)* ;

source
    : source joinKind? 'join' source ('on' expression | 'using' '(' name (',' name)* ')')   # joined
    | qualified ('as'? name)?                                                              # table
    | '(' query ')' 'as'? name                                                             # subquery
    | '(' source ')'                                                                       # parenthesised
    ;

joinKind : 'inner' | ('left' | 'right' | 'full') 'outer'? | 'cross' | 'natural' ;

where : 'where' expression ;

groupBy : 'group' 'by' expression (',' expression)* ('having' expression)? ;

orderBy : 'order' 'by' ordering (',' ordering)* ;

ordering : expression ('asc' | 'desc')? ('nulls' ('first' | 'last'))? ;

limit : 'limit' expression ('offset' expression)? ;

insert : 'insert' 'into' qualified ('(' name (',' name)* ')')? (query | 'default' 'values') ;

update : 'update' qualified ('as'? name)? 'set' assignment (',' assignment)* where? ;

assignment : name '=' (expression | 'default') ;

delete : 'delete' 'from' qualified ('as'? name)? where? ;

createTable
    : 'create' 'temporary'? 'table' ('if' 'not' 'exists')? qualified
      ('(' element (',' element)* ')' | 'as' query)
    ;

element : name type columnRule* | ('constraint' name)? tableRule ;

columnRule
    : 'not'? 'null'
    | 'default' expression
    | 'primary' 'key'
    | 'unique'
    | 'check' '(' expression ')'
    | 'references' qualified ('(' name ')')?
    ;

tableRule
    : ('primary' 'key' | 'unique') '(' name (',' name)* ')'
    | 'foreign' 'key' '(' name (',' name)* ')' 'references' qualified ('(' name (',' name)* ')')?
    | 'check' '(' expression ')'
    ;

type : name ('(' NUMBER (',' NUMBER)? ')')? ;

createIndex : 'create' 'unique'? 'index' name 'on' qualified '(' ordering (',' ordering)* ')' where? ;

drop : 'drop' ('table' | 'index' | 'view') ('if' 'exists')? qualified ('cascade' | 'restrict')? ;

expression
    : expression '::' type
    | <assoc = right> expression '^' expression
    | ('+' | '-' | '~') expression
    | expression ('*' | '/' | '%') expression
    | expression ('+' | '-' | '||') expression
    | expression ('<<' | '>>' | '&' | '|') expression
    | expression 'not'? 'between' expression 'and' expression
    | expression 'not'? 'in' '(' (query | expression (',' expression)*) ')'
    | expression 'not'? 'like' expression ('escape' expression)?
    | expression ('<' | '<=' | '>' | '>=') expression
    | expression ('=' | '==' | '<>' | '!=') expression
    | expression 'is' 'not'? ('null' | 'true' | 'false')
    | 'not' expression
    | expression 'and' expression
    | expression 'or' expression
    | 'case' expression? ('when' expression 'then' expression)+ ('else' expression)? 'end'
    | 'cast' '(' expression 'as' type ')'
    | 'exists'? '(' query ')'
    | call
    | qualified
    | literal
    | row
    ;

row : '(' expression (',' expression)* ')' ;

call : name '(' ('*' | 'distinct'? expression (',' expression)*)? ')' over? ;

over : 'over' '(' ('partition' 'by' expression (',' expression)*)? orderBy? frame? ')' ;

frame : ('rows' | 'range') (bound | 'between' bound 'and' bound) ;

bound : 'unbounded' ('preceding' | 'following') | 'current' 'row' | expression ('preceding' | 'following') ;

literal : NUMBER | STRING | 'null' | 'true' | 'false' | '?' | ('date' | 'time' | 'timestamp') STRING ;

qualified : name ('.' name)* ;

name : NAME | QUOTED | 'date' | 'time' | 'first' | 'last' | 'key' ;

NAME : [a-z_] [a-z_0-9$]* ;

QUOTED : '"' (~'"' | '""')* '"' ;

STRING : '\'' (~'\'' | '\'\'')* '\'' ;

NUMBER : [0-9]+ ('.' [0-9]*)? ('e' [+-]? [0-9]+)? | '.' [0-9]+ ;

LINE_COMMENT : '--' ~[\r\n]* -> skip ;

COMMENT : '/*' .*? '*/' -> skip ;

SPACE : [ \t\r\n]+ -> skip ;
