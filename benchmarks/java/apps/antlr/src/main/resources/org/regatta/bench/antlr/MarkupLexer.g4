// Text with elements: what a character means depends on where it is.
lexer grammar MarkupLexer;

channels { SPACES, REMARKS }

tokens { EQUALS, END }

COMMENT : '<!--' .*? '-->' -> channel(REMARKS) ;

DATA : '<![CDATA[' .*? ']]>' ;

DECLARATION : '<!' .*? '>' -> skip ;

ENTITY : '&' NAME ';' ;

CHARACTER : '&#' ([0-9]+ | 'x' [0-9a-fA-F]+) ';' ;

BLANK : [ \t\r\n]+ -> channel(SPACES) ;

OPEN : '<' -> pushMode(ELEMENT) ;

PROLOGUE : '<?xml' SPACE -> pushMode(ELEMENT) ;

INSTRUCTION : '<?' NAME -> more, pushMode(INSTRUCTED) ;

SCRIPT : '<script' ~'>'* '>' -> pushMode(SCRIPTED) ;

TEXT : ~[<& \t\r\n] ~[<&]* ;

mode ELEMENT ;

CLOSE : '>' -> popMode ;

CLOSE_PROLOGUE : '?>' -> popMode ;

CLOSE_EMPTY : '/>' -> popMode ;

SLASH : '/' ;

EQUAL : '=' -> type(EQUALS) ;

STRING : '"' ~[<"]* '"' | '\'' ~[<']* '\'' ;

NAME : START PART* ;

IN_ELEMENT : SPACE -> skip ;

fragment SPACE : [ \t\r\n] ;

fragment START : [:_\p{L}] ;

fragment PART : START | [-.\p{Nd}\u00B7] | [\p{Mn}\p{Mc}] ;

mode INSTRUCTED ;

END_INSTRUCTION : '?>' -> type(END), popMode ;

IN_INSTRUCTION : . -> more ;

mode SCRIPTED ;

END_SCRIPT : '</script' SPACE* '>' -> type(END), popMode ;

LITERAL : '"' ('\\' . | ~["\\])* '"' ;

CODE : ~[<"]+ ;

LESS : '<' -> type(CODE) ;
