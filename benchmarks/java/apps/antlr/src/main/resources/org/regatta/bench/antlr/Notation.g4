// Values nested in lists and objects.
grammar Notation;

document : value EOF ;

value
    : object
    | list
    | STRING
    | NUMBER
    | 'true'
    | 'false'
    | 'null'
    ;

object : '{' (pair (',' pair)* ','?)? '}' ;

pair : (STRING | NAME) ':' value ;

list : '[' (value (',' value)* ','?)? ']' ;

STRING : '"' (ESCAPE | ~["\\\u0000-\u001F])* '"' ;

fragment ESCAPE : '\\' (["\\/bfnrt] | 'u' HEX HEX HEX HEX) ;

fragment HEX : [0-9a-fA-F] ;

NUMBER : '-'? INTEGER ('.' [0-9]+)? ([eE] [+-]? [0-9]+)? ;

fragment INTEGER : '0' | [1-9] [0-9]* ;

NAME : [\p{Alpha}_] [\p{Alnum}_]* ;

SPACE : [ \t\r\n]+ -> skip ;

COMMENT : '#' ~[\r\n]* -> channel(HIDDEN) ;
